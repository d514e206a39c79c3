"""Options in torchrunConfig.extraOptions that the controller sets itself.

Source: docs/evidence/t9k-pytorchtrainingjob.md#torchrun-options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping, get_texts
from podplan.launchers.argparse import parse_command_line
from podplan.launchers.torchrun import ETCD_BACKENDS, GRAMMAR
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import count_pods, is_mode_enabled, list_replica_places, spec_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# Options that the controller sets for fields of torchrunConfig; it always sets nnodes and rdzv_endpoint.
_CONFIG_FIELDS = {
    "rdzv_backend": "rdzvBackend",
    "nproc_per_node": "procPerNode",
    "max_restarts": "maxRestarts",
}


@check()
def option_given_twice(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An option that the controller sets too; values ``option`` and ``source``."""
    job, config = target.job, get_mapping(spec_of(target.job), "torchrunConfig")
    if config.get("enabled") is not True or is_mode_enabled(job, "debug"):
        return
    base = ("spec", "torchrunConfig", "extraOptions")
    words = tuple(Word(word, (*base, at)) for at, word in get_texts(config, "extraOptions"))
    if not words:
        return
    options = parse_command_line(GRAMMAR, words, Word("torchrun", base)).options
    backend_option = options.get("rdzv_backend")
    backend = backend_option.value if backend_option is not None else config.get("rdzvBackend")
    for name, option in options.items():
        if name == "rdzv_endpoint" and backend in ETCD_BACKENDS:
            continue  # the endpoint of the controller is a replica, and no etcd server
        source, source_places = _find_controller_source(job, config, name)
        if source:
            related = [(target.doc, path, label) for path, label in source_places]
            yield Violation(option.flag.path, {"option": f"--{name}", "source": source}, related)


def _find_controller_source(
    job: LoweredJob, config: Mapping[str, Any], name: str
) -> tuple[str, list[tuple[Path, str]]]:
    """Return the field from which the controller sets an option, "" if it does not, and its path."""
    field = _CONFIG_FIELDS.get(name, "")
    if field in config:
        return f"{field}: {config[field]}", [(("spec", "torchrunConfig", field), "the field that sets it")]
    if name == "nnodes":
        replica_places = [(path, label) for _, path, label in list_replica_places(job)]
        return f"the {format_count(count_pods(job), 'replica')}", replica_places
    return ("the host of rank 0" if name == "rdzv_endpoint" else ""), []
