"""Jobs that have a graph, and the graph of any job."""

from __future__ import annotations

from typing import Any

import yaml

from podplan.tools.graph.model import Graph
from podplan.tools.graph.picture import build_graph
from tests.golden_cases import FIXTURES, Case
from tests.lowered_objects import Object, document, lower

PICTURES = FIXTURES / "graph"
# Cases of the kinds that have a graph; those of fixtures/graph have their own CR.
DRAWN = {
    "pytorch_torchrun": "pytorch_training_job/torchrun",
    "pytorch_elastic": "pytorch_training_job/elastic",
    "pytorch_debug": "pytorch_training_job/debug",
    "pytorch_master_and_workers": "pytorch_training_job/master_and_workers",
    "pytorch_tensorboard": "pytorch_training_job/tensorboard",
    "deepspeed": "deepspeed_job/script",
    "colossalai_launcher": "colossalai_job_launcher/palm",
    "colossalai_replicas": "colossalai_job_replicas/both_roles",
    "generic_roles": "generic_job/parameter_server",
    "generic_volumes": "generic_job/batch_inference",
    "generic_paused": "generic_job/paused",
}
OWN = sorted(folder.name for folder in PICTURES.iterdir() if (folder / "cr.yaml").exists())


def case_of(name: str) -> Case:
    return Case(FIXTURES / DRAWN[name] if name in DRAWN else PICTURES / name)


def document_of(case: Case) -> Object:
    found: Object = yaml.safe_load((case.folder / "cr.yaml").read_text())
    return found


def drawn(cr: Object, **options: Any) -> Graph:
    return build_graph(document(cr), lower(cr, **options))
