"""``${{ expressions }}`` in the scalars of a profile, found once and worked out for every instance.

A scalar that is nothing but one expression becomes its value, with its type; any other becomes text.
``$${{`` is a literal ``${{``. Everything else that has a dollar is left to the shell and to Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from podplan.core.findings import Problem
from podplan.core.lazy_regex import pattern
from podplan.core.limits import (
    EACH_EXPRESSION,
    MAX_EXPRESSION_LENGTH,
    MAX_EXPRESSION_RESULTS_TOTAL,
    MAX_EXPRESSIONS_COMPILED,
    MAX_RESOLVED_NODES,
)
from podplan.core.provenance import Cursor, at, computed
from podplan.core.suggestions import meant_or_known
from podplan.core.typing import Any, NamedTuple
from podplan.profile.merge import CLOSING, OPENING, Problems, kept
from podplan.profile.values import ROOTS, Expression, Fault, TooMuch, as_text, nothing_at, settled, size

ESCAPED = "$" + OPENING
_PATH = pattern(rf"(?:{'|'.join(ROOTS)})(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_QUOTED = pattern(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"", re.DOTALL)
_OUTSIDE_QUOTES = pattern(r"['\"]|\}\}")
# How many wrong names of one profile are compared with those that it has, which takes milliseconds for each.
_MOST_MEANT = 100


class Text(NamedTuple):
    """A scalar taken apart into literal text and expressions."""

    parts: tuple[str | Expression, ...]


# What of a value holds expressions: the parts by key or index, a scalar taken apart, or None.
Plan = dict[Any, Any] | Text | None


class Scope(NamedTuple):
    """What expressions see: the values by name, where they are written, and which first steps exist."""

    values: Mapping[str, Any]
    places: Mapping[tuple[str, str], Cursor]
    known: Mapping[str, Collection[str]]


class Budget:
    """What all expressions of one profile and their results may come to in characters, and what is kept."""

    def __init__(self) -> None:
        self.left = MAX_EXPRESSION_RESULTS_TOTAL
        self._room = MAX_RESOLVED_NODES
        self._compared: set[tuple[str, str]] = set()
        self._meant: dict[tuple[str, str, str], str] = {}

    def meant(self, name: str, step: str, scope: Scope) -> str:
        """What to write instead of a first step that is not there: told once for all instances."""
        key = (scope.values["environment"], name, step)
        if key not in self._meant:
            if len(self._compared) < _MOST_MEANT:
                self._compared.add((name, step))
            compared = (name, step) in self._compared
            near = meant_or_known(step, scope.known[name]) if compared else ""
            self._meant[key] = near or ("" if scope.known[name] else f"; the profile has no {name}")
        return self._meant[key]

    def keeps(self, nodes: int) -> bool:
        """Whether there is room for so many values of resolved instances; if so, it is taken."""
        if nodes > self._room:
            return False
        self._room -= nodes
        return True

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            most = MAX_EXPRESSION_RESULTS_TOTAL
            message = (
                f"the expressions of this profile make more than {most} characters; make fewer instances"
            )
            raise TooMuch("expression-results", message)


def find(cursor: Cursor, problems: Problems) -> Plan:
    """The expressions at ``cursor`` and below; what cannot be read is a problem, and left out."""
    compiled: set[str] = set()

    def walk(value: Any, path: tuple[str | int, ...]) -> Plan:
        if isinstance(value, str):
            return take(value, path) if OPENING in value else None
        if isinstance(value, dict):
            for key in value:
                if OPENING in key:
                    problem = Problem(
                        "PROF010", "a key may not hold an expression", (*path, key), on_key=True
                    )
                    problems.append((cursor.doc, problem))
            below = {key: walk(entry, (*path, key)) for key, entry in value.items()}
        elif isinstance(value, list):
            below = {index: walk(entry, (*path, index)) for index, entry in enumerate(value)}
        else:
            return None
        return {key: plan for key, plan in below.items() if plan is not None} or None

    def take(text: str, path: tuple[str | int, ...]) -> Plan:
        try:
            parts = tuple(part if isinstance(part, str) else read(part[0]) for part in pieces(text))
            compiled.update(part.source for part in parts if isinstance(part, Expression))
            if len(compiled) > MAX_EXPRESSIONS_COMPILED:
                message = f"a profile may have {MAX_EXPRESSIONS_COMPILED} different expressions at most"
                raise TooMuch("expressions", message)
        except Fault as fault:
            problems.append((cursor.doc, Problem(fault.rule, str(fault), path)))
            return None
        return Text(parts)

    return walk(cursor.value, cursor.path)


def pieces(text: str) -> list[str | tuple[str]]:
    """``text`` as literals, and expressions as tuples of one; raises Fault where one does not end."""
    result: list[str | tuple[str]] = []
    literal, here = "", 0
    while (start := text.find(OPENING, here)) >= 0:
        if start > here and text[start - 1] == "$":
            literal += text[here : start - 1] + OPENING
            here = start + len(OPENING)
            continue
        literal += text[here:start]
        if literal:
            result.append(literal)
        literal = ""
        end = _end(text, start + len(OPENING))
        result.append((text[start + len(OPENING) : end].strip(),))
        here = end + len(CLOSING)
    literal += text[here:]
    return [*result, literal] if literal else result


def _end(text: str, start: int) -> int:
    here = start
    while True:
        found = _OUTSIDE_QUOTES.search(text, here, start + MAX_EXPRESSION_LENGTH)
        if found is None:
            break
        if found[0] == CLOSING:
            return found.start()
        quoted = _QUOTED.match(text, found.start(), start + MAX_EXPRESSION_LENGTH)
        if quoted is None:
            break
        here = quoted.end()
    shown = text[start : start + 40].strip()
    if len(text) - start > MAX_EXPRESSION_LENGTH:
        message = (
            f'the expression that begins with "{shown}" is longer than {MAX_EXPRESSION_LENGTH} characters'
        )
        raise TooMuch("expression-length", message)
    raise Fault(
        f'the expression that begins with "{shown}" does not end; write ${{{{ … }}}}, '
        f"or {ESCAPED} for the characters themselves"
    )


def read(source: str) -> Expression:
    """The expression ``source``; raises Fault where it is not one that may be worked out."""
    if _PATH.fullmatch(source):
        # The usual case, without a template engine.
        root, *steps = source.split(".")
        return Expression(source, ((root, steps[0] if steps else None),), _follow(root, steps))
    from podplan.profile.sandbox import compiled

    return compiled(source)


def _follow(root: str, steps: list[str]) -> Callable[[Mapping[str, Any]], Any]:
    def run(values: Mapping[str, Any]) -> Any:
        value = values[root]
        for step in steps:
            if not isinstance(value, dict) or step not in value:
                raise Fault(nothing_at(value, step), "PROF009")
            value = value[step]
        return value

    return run


def fill(cursor: Cursor, plan: Plan, scope: Scope, budget: Budget, problems: Problems) -> Any:
    """The marked tree of what stands at ``cursor``, with the expressions of ``plan`` worked out."""
    if plan is None:
        return kept(cursor)
    if isinstance(plan, Text):
        try:
            return value_of(cursor, plan, scope, budget)
        except Fault as fault:
            problems.append((cursor.doc, Problem(fault.rule, str(fault), cursor.path)))
            return kept(cursor)
    if isinstance(cursor.value, dict):
        fields = {key: fill(cursor.get(key), plan.get(key), scope, budget, problems) for key in cursor.value}
        return at(cursor, fields)
    return at(
        cursor,
        [fill(entry, plan.get(i), scope, budget, problems) for i, entry in enumerate(cursor.entries())],
    )


def weight(value: Any, plan: Plan) -> int:
    """How many values ``fill`` has to build anew."""
    if not isinstance(plan, dict):
        return 1
    return len(value) + sum(weight(value[key], below) for key, below in plan.items())


def value_of(cursor: Cursor, text: Text, scope: Scope, budget: Budget) -> Any:
    """The value of a scalar, traced to the scalar and then to the params that it reads; raises Fault."""
    used: dict[tuple[str, str], Cursor] = {}
    values: list[Any] = []
    for part in text.parts:
        if isinstance(part, str):
            values.append(part)
            continue
        for name, step in part.reads:
            _demand(name, step, scope, budget, part.source)
            for key, place in scope.places.items():
                if key == (name, step) or (step is None and key[0] == name):
                    used[key] = place
        budget.spend(EACH_EXPRESSION)
        try:
            values.append(settled(part.run(scope.values)))
        except Fault as fault:
            raise Fault(f"{OPENING} {part.source} {CLOSING}: {fault}", fault.rule) from None
    result = values[0] if len(values) == 1 else "".join(map(as_text, values))
    budget.spend(size(result))
    return computed(lambda *_: result, cursor, *used.values())


def _demand(name: str, step: str | None, scope: Scope, budget: Budget, source: str) -> None:
    """That a name and its first step exist: a typo must not pass, not even under a default."""
    shown = f"{OPENING} {source} {CLOSING}"
    if name not in scope.values:
        raise Fault(f"{shown}: there is no ClusterInventory to read; check one in, or name it", "PROF009")
    if step is None:
        return
    if name == "environment":
        raise Fault(
            f"{shown}: environment is the name itself; write {OPENING} environment {CLOSING}", "PROF009"
        )
    if step not in scope.known[name]:
        what = {"params": "param", "matrix": "matrix key"}.get(name, f"{name} field")
        near = budget.meant(name, step, scope)
        raise Fault(f'{shown}: there is no {what} "{step}"{near}', "PROF009")
