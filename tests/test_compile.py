"""Profiles compiled to CRs: fixtures/compile/<Kind>.yaml, and what holds for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest

from podplan.core.findings import to_json_pointer
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.kinds.common.durations import parse_duration
from podplan.kinds.common.hardware import halve_quantity
from podplan.kinds.common.profile import COMMON_FIELDS, COMMON_ROLE_FIELDS, RESOLVED_FIELDS
from podplan.kinds.compilation import CompileResult, compile_profile
from podplan.kinds.registry import COMPILED_KINDS, KINDS_BY_NAME, PACKAGES, GroupVersionKind, load_spec
from podplan.schema import validate_against, validate_cr
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_document
from tests.rows import each_row

ROOT = File(__file__).parent.parent
FIXTURES = ROOT / "fixtures" / "compile"
SCHEMA = json.loads((ROOT / "schemas" / "JobProfile.json").read_text())


def from_file(text: str, name: str) -> TracedDocument:
    source = parse_yaml(text.encode(), name)
    assert not source.diagnostics
    return TracedDocument(name, source.documents[0].data, source=source.documents[0])


INVENTORY = from_file((FIXTURES / "inventory.yaml").read_text(), "inventory.yaml")
CASES = [
    (job, case)
    for job in COMPILED_KINDS
    for case in from_file((FIXTURES / f"{job}.yaml").read_text(), job).data
]
IDS = [f"{job}: {case['name']}" for job, case in CASES]
GOOD = [(job, case) for job, case in CASES if "cr" in case]
GOOD_IDS = [f"{job}: {case['name']}" for job, case in GOOD]


def profile(job: str, fields: dict[str, Any], **metadata: Any) -> TracedDocument:
    data = {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {"name": "job", **metadata},
        "spec": {"job": job, **fields},
    }
    return from_file(emit_document(data), "profile.yaml")


def compiled(job: str, case: dict[str, Any]) -> CompileResult:
    return compile_profile(profile(job, case["profile"]), INVENTORY)


@each_row(("job", "case"), CASES, ids=IDS)
def test_a_profile_compiles_to_the_cr_of_the_fixture(job: str, case: dict[str, Any]) -> None:
    cr, problems = compiled(job, case)
    assert cr is not None
    assert [f"{p.rule} {to_json_pointer(p.path)} {p.message}" for p in problems] == case.get("problems", [])
    if "cr" in case:
        assert emit_document(cr.data) == emit_document(
            {
                "apiVersion": KINDS_BY_NAME[job].api_version,
                "kind": KINDS_BY_NAME[job].kind,
                "metadata": {"name": "job"},
                "spec": case["cr"],
            }
        )


def paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in entries:
        yield from paths(value, (*path, step))


@each_row(("job", "case"), GOOD, ids=GOOD_IDS)
def test_every_path_of_a_cr_traces_to_a_line_that_somebody_wrote(job: str, case: dict[str, Any]) -> None:
    cr = compiled(job, case).cr
    assert cr is not None
    for path in paths(cr.data):
        last = trace_to_source(cr, path)[-1]
        assert last.doc.name in ("profile.yaml", "inventory.yaml"), path
        assert last.doc.source is not None
        assert last.doc.source.has_path(last.path), (path, last.path)


@each_row(("job", "case"), GOOD, ids=GOOD_IDS)
def test_a_value_that_was_copied_stands_at_its_origin(job: str, case: dict[str, Any]) -> None:
    cr = compiled(job, case).cr
    assert cr is not None
    for path, origin in cr.origins.items():
        if origin.derivation == "copied":
            last = trace_to_source(cr, path)[-1]
            assert at(last.doc.data, last.path) == at(cr.data, path)


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


@each_row(("job", "case"), CASES, ids=IDS)
def test_the_profiles_have_the_form_of_a_profile(job: str, case: dict[str, Any]) -> None:
    allowed = {"run in two forms"}
    found = validate_against("JobProfile", profile(job, case["profile"]).data)
    assert bool(found) == (case["name"] in allowed), found


@each_row(("job", "case"), GOOD, ids=GOOD_IDS)
def test_a_profile_with_an_image_gives_a_cr_that_its_schema_accepts(job: str, case: dict[str, Any]) -> None:
    cr = compiled(job, case).cr
    assert cr is not None
    if "image" in case["profile"] and case["name"] != "override":
        assert validate_cr(cr.data, "1.34").diagnostics == []


@pytest.mark.parametrize("job", COMPILED_KINDS)
def test_the_same_profile_gives_the_same_bytes(job: str) -> None:
    cases = [case for of, case in GOOD if of == job]
    texts = [[emit_document(found.cr.data) for c in cases if (found := compiled(job, c)).cr] for _ in "12"]
    assert texts[0] == texts[1]


def test_metadata_is_passed_on() -> None:
    written = {"namespace": "ns", "labels": {"a": "b"}, "annotations": {"c": "d"}, "generateName": None}
    cr = compile_profile(profile("GenericJob", {}, **written), None).cr
    assert cr is not None
    assert cr.data["metadata"] == {
        "name": "job",
        "namespace": "ns",
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
    }


@pytest.mark.parametrize("job", ["TrainJob", "JobSet", "Job"])
def test_the_queue_of_a_kind_without_a_field_for_it_is_a_label(job: str) -> None:
    labels = {"team": "nlp", "kueue.x-k8s.io/queue-name": "old"}
    cr = compile_profile(profile(job, {"schedule": {"queue": "research"}}, labels=labels), None).cr
    assert cr is not None
    assert cr.data["metadata"]["labels"] == {"team": "nlp", "kueue.x-k8s.io/queue-name": "research"}
    last = trace_to_source(cr, ("metadata", "labels", "kueue.x-k8s.io/queue-name"))[-1]
    assert last.path == ("spec", "schedule", "queue")


@pytest.mark.parametrize("job", ["PyTorchJob", "TFJob", "kubeflow.org/v2beta1/MPIJob"])
def test_kueue_finds_the_queue_and_the_priority_of_a_profile_by_labels(job: str) -> None:
    schedule = {"by": "kueue", "queue": "research", "priority": "urgent"}
    cr = compile_profile(profile(job, {"schedule": schedule}), None).cr
    assert cr is not None
    labels = {"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/priority-class": "urgent"}
    assert cr.data["metadata"]["labels"] == labels
    assert "runPolicy" not in cr.data["spec"]


@pytest.mark.parametrize("kind", COMPILED_KINDS.values(), ids=lambda kind: kind.qualified_name)
def test_a_kind_can_be_named_with_its_group_and_version(kind: GroupVersionKind) -> None:
    named = profile(kind.qualified_name, {})
    assert validate_against("JobProfile", named.data) == []
    cr, problems = compile_profile(named, None)
    assert problems == []
    assert cr is not None
    assert (cr.data["apiVersion"], cr.data["kind"]) == (kind.api_version, kind.kind)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (
            "PytorchTrainingJob",
            'there is no kind of job "PytorchTrainingJob"; did you mean "PyTorchTrainingJob"?',
        ),
        (
            ["x"],
            "there is no kind of job a list; there is PyTorchTrainingJob, DeepSpeedJob, ColossalAIJob,",
        ),
        (None, "spec.job is missing; write PyTorchTrainingJob, DeepSpeedJob, ColossalAIJob, GenericJob,"),
    ],
)
def test_a_profile_without_a_kind_of_job_does_not_compile(job: Any, message: str) -> None:
    cr, problems = compile_profile(profile(job, {}), None)
    assert cr is None
    assert [p.rule for p in problems] == ["PROF025"]
    assert problems[0].message.startswith(message)


def test_the_schema_of_the_profile_names_the_kinds_of_the_table() -> None:
    assert SCHEMA["$defs"]["spec"]["properties"]["job"]["enum"] == list(COMPILED_KINDS)


@pytest.mark.parametrize(
    ("definition", "table", "common"),
    [
        ("spec", "profile_fields", COMMON_FIELDS | RESOLVED_FIELDS),
        ("roles", "role_fields", COMMON_ROLE_FIELDS),
    ],
)
def test_every_field_of_the_schema_is_of_some_kind(
    definition: str, table: str, common: frozenset[str]
) -> None:
    found = SCHEMA["$defs"][definition]
    fields = set(found.get("items", found)["properties"])
    of_kinds = set().union(*(getattr(load_spec(kind), table) for kind in PACKAGES))
    assert fields == common | of_kinds


JUNK: tuple[Any, ...] = (
    *(0, -1.5, True, "x", None, [], {}),
    *([None], [[]], [{}], {"a": None}, {"a": {"b": [1]}}, [{"name": "a"}, {"name": "a"}]),
)


@pytest.mark.parametrize("job", COMPILED_KINDS)
def test_junk_gives_problems_or_a_cr_and_never_an_exception(job: str) -> None:
    for field in set(SCHEMA["$defs"]["spec"]["properties"]) - {"job"}:
        for junk in JUNK:
            compile_profile(TracedDocument("junk", {"spec": {"job": job, field: junk}}), INVENTORY)
            role = {"name": "worker", field: junk}
            compile_profile(TracedDocument("junk", {"spec": {"job": job, "roles": [role, junk]}}), None)


@pytest.mark.parametrize(
    ("quantity", "half"),
    [
        ("16Gi", "8Gi"),
        ("1Gi", "512Mi"),
        ("1.5Gi", "768Mi"),
        ("3G", "1500M"),
        ("3", "1"),
        (1024, "512"),
        ("1e3", None),
        ("-4Gi", None),
        ("x", None),
        (None, None),
        ("9" * 5000, None),
    ],
)
def test_half_of_a_quantity(quantity: Any, half: str | None) -> None:
    assert halve_quantity(quantity) == half


@pytest.mark.parametrize(
    ("duration", "wanted"), [("90s", 90), ("2m", 120), ("36h", 129_600), ("1d", 86_400), ("1d1h1m1s", 90_061)]
)
def test_durations_in_seconds(duration: str, wanted: int) -> None:
    assert parse_duration(duration) == wanted
