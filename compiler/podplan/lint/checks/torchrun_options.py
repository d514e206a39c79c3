"""Options of torchrun in torchrunConfig.extraOptions, beside those that the controller gives itself.

Source: t9k-semantics §5.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podplan.kubernetes.shape import mapping, texts
from podplan.launchers.arguments import parse
from podplan.launchers.torchrun import GRAMMAR
from podplan.launchers.words import Word
from podplan.lint.checks._jobs import mode, spec_of
from podplan.lint.subject import Hit, Subject

# What the controller always says, and what it says where a field of torchrunConfig is set.
_ALWAYS = {
    "nnodes": "the number of replicas",
    "rdzv_endpoint": "the host of rank 0",
}
_FIELDS = {"rdzv_backend": "rdzvBackend", "nproc_per_node": "procPerNode", "max_restarts": "maxRestarts"}


def option_given_twice(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An option that the controller gives too; values ``option`` and ``source``."""
    config = mapping(spec_of(subject.job), "torchrunConfig")
    if config.get("enabled") is not True or mode(subject.job, "debug"):
        return
    base = ("spec", "torchrunConfig", "extraOptions")
    words = tuple(Word(word, (*base, at)) for at, word in texts(config, "extraOptions"))
    for name, option in parse(GRAMMAR, words, Word("torchrun", base)).options.items():
        field = _FIELDS.get(name, "")
        source = _ALWAYS.get(name) or (field if field in config else "")
        if source:
            values = {"option": f"--{name}", "source": source}
            where = (
                [(subject.doc, ("spec", "torchrunConfig", field), "it is set here")]
                if field in config
                else []
            )
            yield Hit(option.flag.path, values, where)
