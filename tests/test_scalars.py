"""Scalars against the frozen answers of sigs.k8s.io/yaml, by themselves and through the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podplan.yaml import parse_yaml, scalars

FROZEN = Path(__file__).parent.parent / "fixtures" / "yaml" / "scalars.jsonl"
ANSWERS: list[tuple[str, str, Any]] = [tuple(json.loads(line)) for line in FROZEN.open(encoding="utf-8")]


def same(got: Any, wanted: Any) -> bool:
    return type(got) is type(wanted) and got == wanted


def test_frozen_answers_are_all_there() -> None:
    assert len(ANSWERS) == 4090
    assert sum(kind == "error" for _, kind, _ in ANSWERS) == 6


def test_resolve_agrees_with_every_frozen_answer() -> None:
    wrong = [
        (text, wanted, scalars.resolve_plain(text))
        for text, kind, wanted in ANSWERS
        if kind != "error" and not same(scalars.resolve_plain(text), wanted)
    ]
    assert wrong == []


def test_read_agrees_with_every_frozen_answer() -> None:
    wrong: list[Any] = []
    for text, kind, wanted in ANSWERS:
        source = parse_yaml(f"key: {text}\n".encode(), "frozen.yaml")
        if kind == "error":
            rule = "YAML001" if text == "-" else "YAML007"
            if [fault.rule for fault in source.diagnostics] != [rule]:
                wrong.append((text, source.diagnostics))
        elif source.diagnostics or not same(source.documents[0].data["key"], wanted):
            wrong.append((text, source))
    assert wrong == []


# kubectl 1.32: a ConfigMap with such a key under data, printed as JSON.
KEYS = {
    "y": "true", "on": "true", "No": "false", "1": "1", "0777": "511", "0x1F": "31", "1_000": "1000",
    "1.5": "1.5", "5.": "5", ".5": "0.5", "-0.0": "-0", "0.1": "0.1", "3.14159265358979": "3.1415927",
    "1e3": "1000", "1e5": "100000", "1e6": "1e+06", "1234567.0": "1.234567e+06", "123456.7": "123456.7",
    "16777217.0": "1.6777216e+07", "12345678.9": "1.2345679e+07", "1e22": "1e+22", "0.0001": "0.0001",
    "0.00001": "1e-05", "1.25e-5": "1.25e-05", "1e-50": "0", "1e300": ".inf", "-1e300": "-.inf",
    "-.inf": "-.inf", ".nan": ".nan", "9223372036854775807": "9223372036854775807",
    "2024-01-01": "2024-01-01", "name": "name", "12:30": "12:30",
}  # fmt: skip


@pytest.mark.parametrize(("text", "key"), KEYS.items())
def test_a_key_becomes_the_string_that_kubectl_prints(text: str, key: str) -> None:
    assert scalars.resolve_plain_key(text) == key
    assert parse_yaml(f"? {text}\n: x\n".encode(), "f").documents[0].data == {key: "x"}


@pytest.mark.parametrize("text", ["", "~", "null", "9223372036854775808"])
def test_null_and_unsigned_numbers_are_no_keys(text: str) -> None:
    assert scalars.resolve_plain_key(text) is None


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        ("str", "5", "5"), ("str", "", ""), ("int", "5", 5), ("int", "0o17", 15), ("float", "5", 5),
        ("float", "5.5", 5.5), ("bool", "yes", True), ("null", "", None), ("binary", "aGk=", "hi"),
        ("binary", "aG\nk=", "hi"),
    ],
)  # fmt: skip
def test_tags_give_the_value_of_their_type(tag: str, text: str, value: Any) -> None:
    assert same(scalars.resolve_tagged(scalars.TAG_PREFIX + tag, text), value)


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("int", "5.0"), ("int", ""), ("int", "yes"), ("bool", "5"), ("null", "x"), ("float", "x"),
        ("float", "18446744073709551615"), ("binary", "aG k="), ("binary", "/w=="),
        ("timestamp", "2024-01-01"), ("set", "x"),
    ],
)  # fmt: skip
def test_tags_that_do_not_fit_are_refused(tag: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"remove|correct"):
        scalars.resolve_tagged(scalars.TAG_PREFIX + tag, text)


HINTS = {
    "no": "boolean false", "Y": "boolean true", "off": "boolean false", "07770": "number 4088",
    "-0644": "number -420", "0o17": "number 15", "1e3": "number 1000", "1E-4": "number 0.0001",
    "1_000": "number 1000",
}  # fmt: skip


@pytest.mark.parametrize(("text", "reading"), HINTS.items())
def test_a_hint_says_what_kubernetes_reads(text: str, reading: str) -> None:
    assert reading in scalars.explain_implicit_type(text)


@pytest.mark.parametrize(
    "text",
    ["true", "False", "null", "", "5", "08", "007", "00", "0", "1.5", "1.5e3", "0x1F", "12:30", "1e400", "x"],
)
def test_what_reads_as_it_looks_has_no_hint(text: str) -> None:
    assert scalars.explain_implicit_type(text) == ""


@pytest.mark.parametrize("text", ["9" * 10**6, "0" * 10**6, "0b+" + "1" * 10**6, "1e" + "9" * 10**6])
def test_huge_numbers_are_read_and_not_refused_by_python(text: str) -> None:
    assert scalars.resolve_plain(text) in (text, 0)
    assert isinstance(scalars.explain_implicit_type(text), str)
