"""Stars in the place of secrets: nothing of them is left, nothing else is touched, and many cost no more."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import podplan
from podplan.redaction.redactor import Redactor
from tests.work_counts import work

TEXTS = st.text("abcd …", max_size=30)
SECRETS = st.lists(st.text("abcd", min_size=4, max_size=9), max_size=5)


@pytest.mark.parametrize(
    ("text", "secrets", "expected"),
    [
        ('not "HUNTER"', ["HUNTER"], 'not "***"'),
        ('not "aHUNTERb"', ["HUNTER"], 'not "a***b"'),
        ("HUNTERHUNTED and HUNTER", ["HUNTER", "HUNTERHUNTED"], "*** and ***"),
        ("it begins HUNT… and ends", ["HUNTER"], "it begins ***… and ends"),
        ("HUN… is too short, and HUNTE is another word", ["HUNTER"], None),
        ("abc", ["abc"], None),
        ('{"a": "x\\ny\\u00e9"}', ["x\nyé"], '{"a": "***"}'),
        ('{"a": "x\\nyé"}', ["x\nyé"], '{"a": "***"}'),
        ("", ["HUNTER"], None),
        ("HUNTER", [], None),
    ],
)
def test_texts(text: str, secrets: list[str], expected: str | None) -> None:
    assert Redactor(secrets).redact_text(text) == (text if expected is None else expected)


def test_words_are_hidden_only_where_they_are_quoted() -> None:
    known = Redactor(["HUNTER catches prey"])
    assert known.redact_text('a HUNTER catches it, not "xHUNTER" or "prey"') == (
        'a HUNTER catches it, not "x***" or "***"'
    )
    assert known.redact_text("HUNTER catches prey") == "***"


@given(TEXTS, SECRETS)
def test_nothing_of_a_secret_is_left_and_nothing_else_is_touched(text: str, secrets: list[str]) -> None:
    said = Redactor(secrets).redact_text(text)
    assert not any(secret in said for secret in secrets)
    assert not any(f"{secret[:size]}…" in said for secret in secrets for size in range(4, len(secret) + 1))
    kept = said.split("***")
    at = 0
    for part in kept:
        at = text.index(part, at) + len(part)
    if not any(secret[:4] in text for secret in secrets):
        assert said == text


def test_the_work_does_not_grow_with_the_secrets() -> None:
    text = 'the variable "valuable" is "value-17" and v'
    few, many = (Redactor([f"value-{number}" for number in range(count)]) for count in (100, 10_000))
    assert work(lambda: many.redact_text(text)) < 1.1 * work(lambda: few.redact_text(text))


def test_only_the_package_redaction_hides_values() -> None:
    """A text of stars elsewhere would be a second way to hide secrets, with gaps of its own."""
    package = Path(podplan.__path__[0])
    elsewhere = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in package.rglob("*.py")
        if "redaction" not in path.relative_to(package).parts and "***" in path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "***" in node.value
    ]
    assert elsewhere == []
