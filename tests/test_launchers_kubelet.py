"""``$(NAME)`` as the kubelet replaces it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.launchers.kubelet import expand_references, map_to_written_offset, resolve_environment

VARIABLES = {"A": "one", "B": "$(A)", "E": "", "S": None}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "one"),
        ("x$(A)$(A)y", "xoneoney"),
        ("$(B)", "$(A)"),
        ("$(E)", ""),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$one"),
        ("$$$$(A)", "$$(A)"),
        ("$(NOBODY)", "$(NOBODY)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$(A $(A)", "$(A $(A)"),
        ("$()", "$()"),
        ("$(S)", "$(S)"),
        ("$($(A))", "$($(A))"),
        ("a$", "a$"),
        ("$x$(A)", "$xone"),
        ("", ""),
    ],
)
def test_expansion(text: str, expanded: str) -> None:
    assert expand_references(text, VARIABLES).text == expanded


def test_what_was_used_and_what_was_not() -> None:
    found = expand_references("$(A) $(NOBODY) $(S) $(A)", VARIABLES)
    assert (found.variables, found.unresolved, found.is_known) == (("A", "A"), ("NOBODY",), False)
    assert expand_references("$(NOBODY)", VARIABLES, is_complete=False).is_known is False
    assert expand_references("$(KUBERNETES_SERVICE_HOST)", VARIABLES).is_known is False
    assert expand_references("$(NOBODY)", VARIABLES).is_known is True


def test_env_sees_what_stands_before_it() -> None:
    env = [
        {"name": "LATE", "value": "$(A)"},
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)2"},
        {"name": "A", "value": "$(B)3"},
        {"name": "EMPTY"},
        {"name": "FIELD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "FROM_FIELD", "value": "x-$(FIELD)"},
        "odd",
        {"value": "no name"},
    ]
    assert resolve_environment({"env": env}) == {
        "LATE": "$(A)",
        "A": "123",
        "B": "12",
        "EMPTY": "",
        "FIELD": None,
        "FROM_FIELD": None,
    }


@pytest.mark.parametrize(
    ("offset", "place"), [(0, 0), (1, 1), (2, 1), (4, 5), (5, 6), (7, 8), (8, 14), (9, 15)]
)
def test_offsets_lead_back(offset: int, place: int) -> None:
    assert expand_references("a$(A)bcd$(A)$(E)$$e", {"A": "one", "E": ""}).text == "aonebcdone$e"
    assert map_to_written_offset(expand_references("a$(A)bcd$$$(E)e", {"A": "one", "E": ""}), offset) == place


@given(st.text("$()AB x", max_size=30))
def test_every_offset_leads_into_the_text(text: str) -> None:
    found = expand_references(text, {"A": "long value", "B": ""})
    places = [map_to_written_offset(found, offset) for offset in range(len(found.text) + 1)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


def test_a_variable_that_doubles_ends() -> None:
    env = [{"name": "A", "value": "x" * 100}] + [{"name": "A", "value": "$(A)$(A)"}] * 5_000
    before = time.process_time()
    assert resolve_environment({"env": env})["A"] is None
    expand_references("$(" * 100_000, {})
    expand_references("$(A" * 100_000 + ")", {})
    assert time.process_time() - before < 10


def test_a_field_of_the_pod_is_known_if_its_metadata_is() -> None:
    index = "batch.kubernetes.io/job-completion-index"
    env = [
        {"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{index}']"}}},
        {"name": "NODE", "value": "node-$(RANK)"},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "TEAM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['team']"}}},
    ]
    metadata = {"labels": {index: "3"}}
    assert resolve_environment({"env": env}, metadata) == {
        "RANK": "3",
        "NODE": "node-3",
        "IP": None,
        "TEAM": None,
    }
    assert set(resolve_environment({"env": env}).values()) == {None}
