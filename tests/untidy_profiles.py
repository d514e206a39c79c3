"""Badly formatted profiles: any order, any indentation, any quotes, comments everywhere."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

FIELDS = (
    "job",
    "image",
    "replicas",
    "env",
    "run",
    "data",
    "roles",
    "pod",
    "environments",
    "params",
    "shm",
    "x y",
)
WORDS = (
    "a",
    "yes",
    "null",
    "~",
    "0x1f",
    "1e3",
    "true",
    "it's",
    'say "x"',
    "# no",
    "a: b",
    "- a",
    "",
    " a ",
    "ä",
    "\\n",
)
TEXTS = ("one\ntwo\n", "one\n\n two", "a\n\n\n", " lead\nb\n", "\nx\n")

scalars = st.one_of(
    st.sampled_from(WORDS),
    st.integers(-3, 99),
    st.booleans(),
    st.none(),
    st.just(0.5),
    st.sampled_from(TEXTS),
)
names = st.sampled_from(FIELDS)
values = st.recursive(
    scalars,
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.dictionaries(st.one_of(names, st.sampled_from(WORDS)), below, max_size=4),
    ),
    max_leaves=12,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw the text of one profile, base or inventory; its comments are ``# c1``, ``# c2`` and so on."""
    kind = draw(st.sampled_from(("JobProfile", "JobProfileBase", "ClusterInventory")))
    head: dict[str, Any] = {"apiVersion": "podplan/v1", "kind": kind}
    rest = {"metadata": {"name": "x"}, "spec": draw(st.dictionaries(names, values, max_size=6))}
    order = draw(st.permutations([*head.items(), *rest.items()]))
    return _Writer(draw).document(dict(order))


class _Writer:
    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def document(self, data: dict[str, Any]) -> str:
        lines = [*self.remarks(""), *self.block(data, ""), *self.remarks("")]
        return "\n".join(lines) + "\n"

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(1, of)) == of

    def remark(self) -> str:
        self.count += 1
        return f"# c{self.count}"

    def remarks(self, indent: str) -> list[str]:
        """Draw comments and blank lines, at about the right indentation."""
        lines = []
        while self.chance(4):
            at = self.draw(st.sampled_from((indent, indent, indent + "  ", indent[:-1], "")))
            lines.append(at + self.remark() if self.chance(2) else self.draw(st.sampled_from(("", "   "))))
        return lines

    def beside(self) -> str:
        return f"  {self.remark()}" if self.chance(5) else ""

    def block(self, value: Any, indent: str) -> list[str]:
        lines: list[str] = []
        entries = value.items() if isinstance(value, dict) else ((None, one) for one in value)
        for key, below in entries:
            lines += self.remarks(indent)
            head = f"{indent}{self.key(key)}:" if key is not None else f"{indent}-"
            lines += self.entry(head, below, indent, key is None)
        return [*lines, *self.remarks(indent)]

    def entry(self, head: str, value: Any, indent: str, listed: bool) -> list[str]:
        if isinstance(value, str) and "\n" in value and self.chance(2):
            return self.literal(head, value, indent)
        if not isinstance(value, dict | list) or not value or self.chance(3):
            return [f"{head} {self.flow(value, indent)}".rstrip(" ") + self.beside()]
        step = " " * self.draw(st.integers(1, 4))
        if isinstance(value, list) and not listed and self.chance(2):
            step = ""
        return [head + self.beside(), *self.block(value, indent + step)]

    def literal(self, head: str, value: str, indent: str) -> list[str]:
        body = value.rstrip("\n")
        more = len(value) - len(body)
        chomp = "-" if more == 0 else "" if more == 1 else "+"
        step = " " * self.draw(st.integers(1, 4))
        lead = str(len(step)) if body.lstrip("\n").startswith(" ") else ""
        lines = [f"{indent}{step}{line}" if line else "" for line in body.split("\n")]
        return [f"{head} |{lead}{chomp}{self.beside()}", *lines, *[""] * (more - 1)]

    def flow(self, value: Any, indent: str) -> str:
        if not isinstance(value, dict | list):
            return self.scalar(value)
        between = ", "
        if self.chance(6):
            between = f", {self.remark()}\n{indent}     "
        if isinstance(value, dict):
            inner = between.join(f"{self.key(key)}: {self.flow(one, indent)}" for key, one in value.items())
            return f"{{{inner}}}"
        return f"[{between.join(self.flow(one, indent) for one in value)}]"

    def key(self, key: str) -> str:
        plain = key.strip() == key and key.replace(" ", "").isalpha() and key not in ("yes", "null", "true")
        return key if plain and not self.chance(4) else json.dumps(key)

    def scalar(self, value: Any) -> str:
        if isinstance(value, str):
            styles = [json.dumps(value)]
            if "\n" not in value:
                styles.append("'" + value.replace("'", "''") + "'")
            if value == "a":
                styles.append(value)
            return self.draw(st.sampled_from(styles))
        if value is None:
            return self.draw(st.sampled_from(("null", "~", "Null")))
        if isinstance(value, bool):
            return self.draw(st.sampled_from(("yes", "true", "On") if value else ("no", "False")))
        return json.dumps(value)
