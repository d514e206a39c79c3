"""Quantities are exact, and wrong ones are told."""

from __future__ import annotations

import pytest

from podplan.kubernetes import names, quantities
from podplan.kubernetes.quantities import UNITS_PER_ONE, parse_quantity


@pytest.mark.parametrize(
    ("written", "units"),
    [
        ("0", 0),
        ("1", UNITS_PER_ONE),
        (1, UNITS_PER_ONE),
        (0.5, UNITS_PER_ONE // 2),
        (1e3, 1000 * UNITS_PER_ONE),
        ("500m", UNITS_PER_ONE // 2),
        ("0.1", UNITS_PER_ONE // 10),
        (".5", UNITS_PER_ONE // 2),
        ("5.", 5 * UNITS_PER_ONE),
        ("+1", UNITS_PER_ONE),
        ("-1.5", -UNITS_PER_ONE * 3 // 2),
        ("1n", 1),
        ("0.1n", 1),
        ("-0.1n", -1),
        ("1u", 1000),
        ("1k", 1000 * UNITS_PER_ONE),
        ("1Ki", 1024 * UNITS_PER_ONE),
        ("1.5Gi", 3 * 2**29 * UNITS_PER_ONE),
        ("1E", 10**18 * UNITS_PER_ONE),
        ("1e3", 1000 * UNITS_PER_ONE),
        ("1E3", 1000 * UNITS_PER_ONE),
        ("1e-3", UNITS_PER_ONE // 1000),
        ("12e6", 12_000_000 * UNITS_PER_ONE),
        ("9007199254740993", 9007199254740993 * UNITS_PER_ONE),
        (" 1Gi\n", 2**30 * UNITS_PER_ONE),
    ],
)
def test_read(written: object, units: int) -> None:
    assert parse_quantity(written) == units
    assert not isinstance(written, str) or names.matches_form("quantity", written)


@pytest.mark.parametrize(
    "written", ["", ".", "-", "1GB", "1 Gi", "Gi", "1ki", "1K", "0x10", "1e", "1_000", "١"]
)
def test_not_a_quantity(written: str) -> None:
    assert parse_quantity(written) is None
    assert not names.matches_form("quantity", written)


@pytest.mark.parametrize("written", [None, True, [], {}, float("nan"), float("inf")])
def test_not_a_quantity_by_type(written: object) -> None:
    assert parse_quantity(written) is None


def test_huge_exponents_cost_nothing() -> None:
    assert parse_quantity("1e999999999999") == 10**64 * UNITS_PER_ONE
    assert parse_quantity("1e-999999999999") == 1
    assert parse_quantity("9" * 10_000) is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [("16GB", "16Gi"), ("1.5 gib", "1.5Gi"), ("512mb", "512Mi"), ("1K", "1Ki"), ("lots", ""), ("B", "")],
)
def test_what_another_notation_means(written: str, meant: str) -> None:
    assert quantities.suggest_quantity(written) == meant


def test_whole() -> None:
    assert quantities.is_whole(8 * UNITS_PER_ONE)
    assert not quantities.is_whole(UNITS_PER_ONE // 2)


@pytest.mark.parametrize(
    ("form", "text", "fault"),
    [
        ("dns-label", "worker-0", ""),
        ("dns-label", "x" * 64, "has 64 characters; at most 63 are allowed"),
        (
            "dns-label",
            "a\n",
            "may contain only lower-case letters, digits and '-', with a letter or digit at both ends",
        ),
        ("dns-label", "", "is empty"),
        ("qualified-name", "example.com/" + "x" * 63, ""),
        ("label-value", "", ""),
        ("time", "2024-05-01T12:00:00Z", ""),
        ("time", "2024-05-01", "must be a time such as 2024-05-01T12:00:00Z"),
    ],
)
def test_forms(form: str, text: str, fault: str) -> None:
    assert names.explain_mismatch(form, text) == fault
    assert names.matches_form(form, text) == (not fault)


def test_the_parts_of_a_qualified_name_have_their_own_bounds() -> None:
    assert not names.matches_form("qualified-name", "example.com/" + "x" * 64)
    assert not names.matches_form("qualified-name", "a." * 127 + "/x")
    assert not names.matches_form("qualified-name", "x" * 254 + "/x")
    assert names.matches_form("qualified-name", "x" * 253 + "/x")


def test_values_in_messages_are_cut_and_printable() -> None:
    assert names.format_value("a\nb") == '"a\\nb"'
    assert names.format_value("x" * 100) == '"' + "x" * 60 + '…"'
    assert names.format_value(True) == "true"


@pytest.mark.parametrize(
    ("written", "resource", "text"),
    [
        ("2", "cpu", "2"),
        ("1500m", "cpu", "1500m"),
        ("2048", "cpu", "2048"),
        ("6Gi", "memory", "6Gi"),
        ("6145Mi", "memory", "6145Mi"),
        ("1000", "memory", "1000"),
        ("0", "memory", "0"),
    ],
)
def test_exact_text_loses_nothing(written: str, resource: str, text: str) -> None:
    units = parse_quantity(written)
    assert units is not None
    assert quantities.format_quantity(units, resource) == text
    assert parse_quantity(text) == units
