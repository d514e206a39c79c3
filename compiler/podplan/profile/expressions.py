"""``${{ expressions }}`` in the scalars of a profile, parsed once and evaluated for every instance.

A scalar that is exactly one expression becomes its value, with its type; any other becomes text. ``$${{`` is
a literal ``${{``. Any other dollar is left to the shell and to Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from podplan.core.findings import Diagnostic
from podplan.core.lazy_regex import compile_lazily
from podplan.core.limits import (
    EXPRESSION_BASE_COST,
    MAX_EXPRESSION_LENGTH,
    MAX_EXPRESSIONS,
    MAX_RESOLVED_NODES,
    MAX_TOTAL_EXPRESSION_RESULTS,
)
from podplan.core.provenance import Cursor, attribute_to, compute_traced
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any, NamedTuple
from podplan.profile.merge import CLOSING, OPENING, preserve_null
from podplan.profile.values import (
    ROOTS,
    Expression,
    ExpressionLimitExceeded,
    ProfileExpressionError,
    explain_missing_step,
    measure_size,
    require_plain_value,
    to_text,
)

ESCAPED_OPENING = "$" + OPENING
_PATH = compile_lazily(rf"(?:{'|'.join(ROOTS)})(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_QUOTED = compile_lazily(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"", re.DOTALL)
_OUTSIDE_QUOTES = compile_lazily(r"['\"]|\}\}")
# How many wrong names of one profile get a suggestion, which takes milliseconds each.
_MAX_SUGGESTIONS = 100


class ParsedText(NamedTuple):
    """A scalar split into literal text and expressions."""

    parts: tuple[str | Expression, ...]


# Where a value has expressions: by key or index, a split scalar, or None.
ExpressionTree = dict[Any, Any] | ParsedText | None


class ExpressionScope(NamedTuple):
    """The names that expressions can use: values by name, where they are written, and their first steps."""

    values: Mapping[str, Any]
    cursors: Mapping[tuple[str, str], Cursor]
    known_names: Mapping[str, Collection[str]]


class ExpressionBudget:
    """The remaining characters for expressions of one profile and their results, and cached suggestions."""

    def __init__(self) -> None:
        self.remaining = MAX_TOTAL_EXPRESSION_RESULTS
        self._room = MAX_RESOLVED_NODES
        self._suggested: set[tuple[str, str]] = set()
        self._hints: dict[tuple[str, str, str], str] = {}

    def suggest_step(self, name: str, step: str, scope: ExpressionScope) -> str:
        """Return the suggestion for an unknown first step; computed once for all instances."""
        key = (scope.values["environment"], name, step)
        if key not in self._hints:
            if len(self._suggested) < _MAX_SUGGESTIONS:
                self._suggested.add((name, step))
            may_suggest = (name, step) in self._suggested
            hint = suggest_or_list(step, scope.known_names[name]) if may_suggest else ""
            self._hints[key] = hint or ("" if scope.known_names[name] else f"; the profile has no {name}")
        return self._hints[key]

    def keeps(self, nodes: int) -> bool:
        """Whether so many more values of resolved instances may be cached; if so, count them."""
        if nodes > self._room:
            return False
        self._room -= nodes
        return True

    def spend(self, size: int) -> None:
        self.remaining -= size
        if self.remaining < 0:
            maximum = MAX_TOTAL_EXPRESSION_RESULTS
            message = (
                f"the expressions of this profile make more than {maximum} characters; make fewer instances"
            )
            raise ExpressionLimitExceeded("expression-results", message)


def find_expressions(cursor: Cursor, diagnostics: list[Diagnostic]) -> ExpressionTree:
    """Return the expressions at ``cursor`` and below; an invalid one is reported and skipped."""
    sources: set[str] = set()

    def walk_value(value: Any, path: tuple[str | int, ...]) -> ExpressionTree:
        if isinstance(value, str):
            return parse_text(value, path) if OPENING in value else None
        if isinstance(value, dict):
            for key in value:
                if OPENING in key:
                    diagnostic = Diagnostic(
                        "PROF010", "a key may not hold an expression", (*path, key), on_key=True
                    )
                    diagnostics.append(diagnostic._replace(doc=cursor.doc))
            below = {key: walk_value(entry, (*path, key)) for key, entry in value.items()}
        elif isinstance(value, list):
            below = {index: walk_value(entry, (*path, index)) for index, entry in enumerate(value)}
        else:
            return None
        return {key: plan for key, plan in below.items() if plan is not None} or None

    def parse_text(text: str, path: tuple[str | int, ...]) -> ExpressionTree:
        try:
            parts = tuple(
                part if isinstance(part, str) else parse_expression(part[0]) for part in split_text(text)
            )
            sources.update(part.source for part in parts if isinstance(part, Expression))
            if len(sources) > MAX_EXPRESSIONS:
                message = f"a profile may have {MAX_EXPRESSIONS} different expressions at most"
                raise ExpressionLimitExceeded("expressions", message)
        except ProfileExpressionError as fault:
            diagnostics.append(Diagnostic(fault.rule, str(fault), path, doc=cursor.doc))
            return None
        return ParsedText(parts)

    return walk_value(cursor.value, cursor.path)


def split_text(text: str) -> list[str | tuple[str]]:
    """Split ``text`` into literals, and expressions as tuples of one.

    Raises ProfileExpressionError: if an expression does not end.
    """
    result: list[str | tuple[str]] = []
    literal, position = "", 0
    while (start := text.find(OPENING, position)) >= 0:
        if start > position and text[start - 1] == "$":
            literal += text[position : start - 1] + OPENING
            position = start + len(OPENING)
            continue
        literal += text[position:start]
        if literal:
            result.append(literal)
        literal = ""
        end = _find_end(text, start + len(OPENING))
        result.append((text[start + len(OPENING) : end].strip(),))
        position = end + len(CLOSING)
    literal += text[position:]
    return [*result, literal] if literal else result


def _find_end(text: str, start: int) -> int:
    position = start
    while True:
        match = _OUTSIDE_QUOTES.search(text, position, start + MAX_EXPRESSION_LENGTH)
        if match is None:
            break
        if match[0] == CLOSING:
            return match.start()
        quoted = _QUOTED.match(text, match.start(), start + MAX_EXPRESSION_LENGTH)
        if quoted is None:
            break
        position = quoted.end()
    beginning = text[start : start + 40].strip()
    if len(text) - start > MAX_EXPRESSION_LENGTH:
        message = (
            f'the expression that begins with "{beginning}" is longer than {MAX_EXPRESSION_LENGTH} characters'
        )
        raise ExpressionLimitExceeded("expression-length", message)
    raise ProfileExpressionError(
        f'the expression that begins with "{beginning}" does not end; write ${{{{ … }}}}, '
        f"or {ESCAPED_OPENING} for the characters themselves"
    )


def parse_expression(source: str) -> Expression:
    """Parse the expression ``source``. Raises ProfileExpressionError: if it is invalid or not allowed."""
    if _PATH.fullmatch(source):
        # The usual case, without a template engine.
        root, *steps = source.split(".")
        return Expression(source, ((root, steps[0] if steps else None),), _build_lookup(root, steps))
    from podplan.profile.sandbox import compile_expression

    return compile_expression(source)


def _build_lookup(root: str, steps: list[str]) -> Callable[[Mapping[str, Any]], Any]:
    def run(values: Mapping[str, Any]) -> Any:
        value = values[root]
        for step in steps:
            if not isinstance(value, dict) or step not in value:
                raise ProfileExpressionError(explain_missing_step(value, step), "PROF009")
            value = value[step]
        return value

    return run


def evaluate_tree(
    cursor: Cursor,
    expressions: ExpressionTree,
    scope: ExpressionScope,
    budget: ExpressionBudget,
    diagnostics: list[Diagnostic],
) -> Any:
    """Return the traced tree of the value at ``cursor``, with ``expressions`` evaluated."""
    if expressions is None:
        return preserve_null(cursor)
    if isinstance(expressions, ParsedText):
        try:
            return evaluate_text(cursor, expressions, scope, budget)
        except ProfileExpressionError as fault:
            diagnostics.append(Diagnostic(fault.rule, str(fault), cursor.path, doc=cursor.doc))
            return preserve_null(cursor)
    if isinstance(cursor.value, dict):
        fields = {
            key: evaluate_tree(cursor.get(key), expressions.get(key), scope, budget, diagnostics)
            for key in cursor.value
        }
        return attribute_to(cursor, fields)
    return attribute_to(
        cursor,
        [
            evaluate_tree(entry, expressions.get(i), scope, budget, diagnostics)
            for i, entry in enumerate(cursor.entries())
        ],
    )


def count_built_values(value: Any, expressions: ExpressionTree) -> int:
    """Return how many values ``evaluate_tree`` has to copy."""
    if not isinstance(expressions, dict):
        return 1
    return len(value) + sum(count_built_values(value[key], below) for key, below in expressions.items())


def evaluate_text(cursor: Cursor, text: ParsedText, scope: ExpressionScope, budget: ExpressionBudget) -> Any:
    """Evaluate a scalar, traced to the scalar and then to the params that it reads.

    Raises ProfileExpressionError: if it has no value.
    """
    used_cursors: dict[tuple[str, str], Cursor] = {}
    values: list[Any] = []
    for part in text.parts:
        if isinstance(part, str):
            values.append(part)
            continue
        for name, step in part.reads:
            _require_known_name(name, step, scope, budget, part.source)
            for key, source_cursor in scope.cursors.items():
                if key == (name, step) or (step is None and key[0] == name):
                    used_cursors[key] = source_cursor
        budget.spend(EXPRESSION_BASE_COST)
        try:
            values.append(require_plain_value(part.evaluate(scope.values)))
        except ProfileExpressionError as fault:
            raise ProfileExpressionError(f"{OPENING} {part.source} {CLOSING}: {fault}", fault.rule) from None
    result = values[0] if len(values) == 1 else "".join(map(to_text, values))
    budget.spend(measure_size(result))
    return compute_traced(lambda *_: result, cursor, *used_cursors.values())


def _require_known_name(
    name: str, step: str | None, scope: ExpressionScope, budget: ExpressionBudget, source: str
) -> None:
    """Require that a name and its first step exist, even under a default, so that a typo is reported."""
    expression_text = f"{OPENING} {source} {CLOSING}"
    if name not in scope.values:
        raise ProfileExpressionError(
            f"{expression_text}: there is no ClusterInventory to read; check one in, or name it", "PROF009"
        )
    if step is None:
        return
    if name == "environment":
        raise ProfileExpressionError(
            f"{expression_text}: environment is the name itself; write {OPENING} environment {CLOSING}",
            "PROF009",
        )
    if step not in scope.known_names[name]:
        noun = {"params": "param", "matrix": "matrix key"}.get(name, f"{name} field")
        hint = budget.suggest_step(name, step, scope)
        raise ProfileExpressionError(f'{expression_text}: there is no {noun} "{step}"{hint}', "PROF009")
