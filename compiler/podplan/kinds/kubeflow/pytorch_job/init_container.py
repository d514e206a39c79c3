"""The init container in which workers of a PyTorchJob wait for the master."""

from __future__ import annotations

from podplan.core.errors import UsageError
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cause, Cursor, Traced, attribute_to
from podplan.core.replica_groups import CONFIGURED_BASIS
from podplan.core.typing import Any
from podplan.kinds.kubeflow import behaviors
from podplan.kinds.kubeflow.job import Job

_WAIT = (
    "err=1;for i in $(seq {tries}); do if nslookup {host}; then err=0 && break; fi;"
    "echo waiting for master; sleep 2; done; exit $err"
)
_PLACEHOLDER = compile_lazily(r"\{\{-?\s*\.(\w+)\s*-?\}\}")


def build_init_containers(job: Job, entry: Cursor) -> list[Traced]:
    """Build the init containers that the operator adds to the worker ``entry``: one, or those of its template
    option."""
    image = job.options.resolve_behavior(behaviors.INIT_IMAGE)
    tries = job.options.resolve_behavior(behaviors.INIT_TRIES)
    template = job.options.resolve_behavior(behaviors.INIT_TEMPLATE)
    host = f"{job.name}-master-0"
    causes: tuple[Cause, ...] = (
        job.options.first_configured(behaviors.INIT_CONTAINER, behaviors.INIT_TEMPLATE),
        *job.name_origins,
    )
    if template.basis == CONFIGURED_BASIS and template.value:
        words = {"MasterAddr": host, "InitContainerImage": image.value, "MaxTries": str(tries.value)}
        return [attribute_to(causes, one) for one in _fill_template(str(template.value), words)]
    container = {
        "name": "init-pytorch",
        "image": attribute_to((image, entry), image.value),
        "imagePullPolicy": "IfNotPresent",
        "command": [
            "sh",
            "-c",
            attribute_to(
                (tries if tries.basis == CONFIGURED_BASIS else behaviors.INIT_CONTAINER, *job.name_origins),
                _WAIT.replace("{tries}", str(tries.value)).replace("{host}", host),
            ),
        ],
        "resources": {
            "limits": {"cpu": "100m", "memory": "20Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
    }
    return [attribute_to(causes, container)]


def _fill_template(text: str, words: dict[str, str]) -> list[Any]:
    """Return the containers of the operator's init container template, a Go template of a YAML list."""
    from podplan.yaml import parse_yaml

    filled = _PLACEHOLDER.sub(lambda match: words.get(match[1], match[0]), text)
    if "{{" in filled:
        raise UsageError(
            "lowering.training-operator.init-template: podplan fills in .MasterAddr, .InitContainerImage and "
            ".MaxTries, no other template action"
        )
    documents = parse_yaml(filled.encode(), "initContainer.yaml").documents
    containers = documents[0].data if documents else None
    if not isinstance(containers, list):
        raise UsageError("lowering.training-operator.init-template must be a YAML list of containers")
    return containers
