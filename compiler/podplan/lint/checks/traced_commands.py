"""Secrets that a shell prints because it traces commands after expansion.

Source: https://www.gnu.org/software/bash/manual/html_node/The-Set-Builtin.html (-x).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.processes import Process, ShellString
from podplan.launchers.shell_nodes import Block, Node
from podplan.launchers.words import Word
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.processes import process_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# The trace goes to another file.
_ELSEWHERE = compile_lazily(r"\bBASH_XTRACEFD=|\bexec\s+2>")


@check(requires=(SHELL,))
def secret_in_trace(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A command that a shell prints with the value of a Secret. Values: ``program``, ``name``."""
    secrets = {
        get_text(entry, "name"): ("env", at)
        for at, entry in get_entries(target.data, "env")
        if get_mapping(get_mapping(entry, "valueFrom"), "secretKeyRef") and get_text(entry, "name")
    }
    process = process_of(target.data)
    if not secrets or process.string is None or _ELSEWHERE.search(process.string.text):
        return
    names = "|".join(map(re.escape, secrets))
    # ${A:+text} is the text, and ${#A} is a length.
    reference = re.compile(rf"\$(?:({names})\b|\{{({names})\b(?!:?\+))")
    for program, word in _iter_traced_words(process, process.string):
        found = reference.search(word.text) if not word.is_known else None
        if found is not None:
            name = found[1] or found[2]
            place = process.string.place_word(word).place
            related = [(target.doc, below(target.base_path, secrets[name]), "from a Secret")]
            yield Violation(place, {"program": program, "name": name}, related)
            return


def _iter_traced_words(process: Process, string: ShellString) -> Iterator[tuple[str, Word]]:
    """Yield the words of the commands that a shell certainly prints, each with its program."""
    before_string = process.words[1 : process.words.index(string.line)]
    is_tracing = _changes_tracing(before_string, is_tracing=False)

    def visit(nodes: Sequence[Node], *, is_certain: bool) -> Iterator[tuple[str, Word]]:
        nonlocal is_tracing
        for node in nodes:
            if isinstance(node, Block):
                if node.kind != "function":
                    yield from visit(node.nodes, is_certain=is_certain and node.kind == "{")
                continue
            if is_tracing:
                for word in node.words:
                    yield node.words[0].base_name, word
            if node.words[0].text == "set":
                changed = _changes_tracing(node.words[1:], is_tracing=is_tracing)
                is_tracing = changed and (is_tracing or (is_certain and node.operator_before != "||"))

    yield from visit(string.nodes, is_certain=True)


def _changes_tracing(words: Sequence[Word], *, is_tracing: bool) -> bool:
    """Whether ``set``, or the call of the shell, with these words enables tracing."""
    names = [word.text for word in words]
    for name, following in zip(names, [*names[1:], ""], strict=True):
        if name[:1] not in ("-", "+") or name.startswith("--"):
            continue
        if "x" in name[1:] or ("o" in name[1:] and following == "xtrace"):
            is_tracing = name[0] == "-"
    return is_tracing
