"""'a1'.find('[0-9]') and findAll: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Regex.

The evaluator's own RE2 does the matching, so a pattern means what it means in Kubernetes and takes linear
time.
"""

from __future__ import annotations

import re
from functools import cache

from podplan.core.typing import Any
from podplan.lint.cel.functions import Overload

_EXTENSIONS = "extensions: [{name: regex, version: latest}, {name: optional, version: latest}]"
# An escape, a class, or a group that captures: RE2's extract wants a pattern without such groups.
_GROUP_OR_ESCAPE = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*\]|\(\?P?<[^>]*>|\((?!\?)", re.DOTALL
)


def find_first(text: str, pattern: str) -> str:
    """The first match, "" where there is none."""
    return str(
        _evaluate_regex("regex.extract(text, pattern).orValue('')", text, _remove_capture_groups(pattern))
    )


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return all matches, or the first ``limit`` of them if it is not negative."""
    if _evaluate_regex("text.matches(pattern)", "", f"^(?:{pattern})$"):
        raise ValueError("podplan does not support findAll() with a pattern that matches the empty text")
    matches = list(_evaluate_regex("regex.extractAll(text, pattern)", text, _remove_capture_groups(pattern)))
    return matches if limit < 0 else matches[:limit]


def _remove_capture_groups(pattern: str) -> str:
    return _GROUP_OR_ESCAPE.sub(lambda piece: "(?:" if piece[0].startswith("(") else piece[0], pattern)


def _evaluate_regex(expression: str, text: str, pattern: str) -> Any:
    value = _compile_expression(expression).eval(data={"text": text, "pattern": pattern})
    if value.type().name() == "ERROR":
        raise ValueError(str(value.value()))
    return value.plain_value()


@cache
def _compile_expression(expression: str) -> Any:
    from cel_expr_python import cel

    variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    environment = cel.NewEnv(config=cel.NewEnvConfigFromYaml(_EXTENSIONS), variables=variables)
    return environment.compile(expression)


OVERLOADS = (
    Overload("find", ("string", "string"), "string", find_first, True),
    Overload("findAll", ("string", "string"), "list<string>", find_all, True),
    Overload("findAll", ("string", "string", "int"), "list<string>", find_all, True),
)
