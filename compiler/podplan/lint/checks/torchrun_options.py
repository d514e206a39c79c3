"""Options of torchrun in torchrunConfig.extraOptions, beside those that the controller gives itself.

Source: docs/evidence/t9k-pytorchtrainingjob.md#torchrun-options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping, texts
from podplan.launchers.argparse import parse
from podplan.launchers.torchrun import ETCD, GRAMMAR
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import counted, mode, pods, replicas_written, spec_of
from podplan.lint.target import Hit, Job, Subject

# What the controller says where a field of torchrunConfig is set; it always says nnodes and rdzv_endpoint.
_FIELDS = {"rdzv_backend": "rdzvBackend", "nproc_per_node": "procPerNode", "max_restarts": "maxRestarts"}


def option_given_twice(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An option that the controller gives too; values ``option`` and ``source``."""
    job, config = subject.job, mapping(spec_of(subject.job), "torchrunConfig")
    if config.get("enabled") is not True or mode(job, "debug"):
        return
    base = ("spec", "torchrunConfig", "extraOptions")
    words = tuple(Word(word, (*base, at)) for at, word in texts(config, "extraOptions"))
    if not words:
        return
    options = parse(GRAMMAR, words, Word("torchrun", base)).options
    named = options.get("rdzv_backend")
    backend = named.value if named is not None else config.get("rdzvBackend")
    for name, option in options.items():
        if name == "rdzv_endpoint" and backend in ETCD:
            continue  # the endpoint of the controller is a replica, and no etcd server
        source, where = _given(job, config, name)
        if source:
            related = [(subject.doc, path, label) for path, label in where]
            yield Hit(option.flag.path, {"option": f"--{name}", "source": source}, related)


def _given(job: Job, config: Mapping[str, Any], name: str) -> tuple[str, list[tuple[Path, str]]]:
    """What the controller takes an option from, "" where it does not give it, and where that is written."""
    field = _FIELDS.get(name, "")
    if field in config:
        return f"{field}: {config[field]}", [(("spec", "torchrunConfig", field), "it is set here")]
    if name == "nnodes":
        written = [(path, label) for _, path, label in replicas_written(job)]
        return f"the {counted(pods(job), 'replica')}", written
    return ("the host of rank 0" if name == "rdzv_endpoint" else ""), []
