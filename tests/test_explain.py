"""podplan explain: its pages, and that the table of what becomes of fields is what the fixtures show."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.cli.shell_completion import complete_topics
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.report import field_page
from podplan.report.terminal_style import Style
from podplan.schema import validate_against
from tests.golden_cases import FIXTURES, podplan
from tools import lowered_fields

TOPICS = (
    "DIST001",
    "shm-missing",
    "YAML001",
    "SCHEMA002",
    "JobProfile",
    "JobProfile.spec.pod",
    "JobProfile.spec.processes",
    "JobProfile.spec.roles[].run",
    "spec.shm",
    "DeepSpeedJob",
    "DeepSpeedJob.spec.config.slotsPerWorker",
    "DeepSpeedJob.spec.worker.template.spec.containers[0].env[0].value",
    "PyTorchTrainingJob.spec.runPolicy.backoffLimit",
    "GenericJob.spec.replicaSpecs.restartPolicy",
    "ColossalAIJob.spec.ssh.sshdPath",
)


def golden(topic: str, suffix: str) -> Path:
    name = topic.replace("[", "").replace("]", "")
    return FIXTURES / "explain" / f"{name}.{suffix}"


@pytest.mark.parametrize("topic", TOPICS)
def test_page(topic: str, file_regression: FileRegressionFixture) -> None:
    said = podplan("explain", topic)
    assert (said.code, said.err) == (0, "")
    file_regression.check(said.out, fullpath=golden(topic, "txt"), encoding="utf-8", newline="")


@pytest.mark.parametrize("topic", ["JobProfile.spec.processes", "YAML001"])
def test_the_same_for_programs(topic: str, file_regression: FileRegressionFixture) -> None:
    said = podplan("explain", "--format", "json", topic)
    assert json.loads(said.out)["format"] == 1
    file_regression.check(said.out, fullpath=golden(topic, "json"), encoding="utf-8", newline="")


@pytest.mark.parametrize("topic", TOPICS[:2])
def test_every_example_is_shown_when_asked_for(topic: str) -> None:
    short, long = podplan("explain", topic).out, podplan("explain", topic, "--examples").out
    assert "more examples: podplan explain" in short
    assert "more examples" not in long
    assert long.count("\nreported: ") > short.count("\nreported: ") == 1


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("JobProfile.spec.shn", 'JobProfile.spec has no field "shn"; did you mean "shm"?'),
        ("shn", 'no field; did you mean "shm"?'),
        ("spec.shn", 'JobProfile.spec has no field "shn"; did you mean "shm"?'),
        ("shm-mising", 'no rule "shm-mising"; did you mean "shm-missing"?'),
        ("DeepSpeedJb.spec", 'did you mean "DeepSpeedJob"?'),
        ("JobProfile.spec.shm.x", 'JobProfile.spec.shm has no field "x"; there are none in it'),
        ("", "is no rule"),
        ("." * 5_000, "is no rule"),
        ("JobProfile" + ".spec" * 5_000, 'has no field "spec"'),
        ("\x1b[2J", "is no rule"),
    ],
)
def test_what_is_not_there_is_a_wrong_request(topic: str, said: str) -> None:
    done = podplan("explain", "--", topic)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""
    assert len(done.err) < 2_000
    assert "\x1b" not in done.err


def test_a_page_fits_its_terminal() -> None:
    style = Style(width=60, wraps=True)
    for topic in ("JobProfile.spec.processes", "DeepSpeedJob", "DeepSpeedJob.spec.config.slotsPerWorker"):
        page = field_page.render_page(field_page.explain_topic(topic), style)
        long = [line for line in page.splitlines() if len(line) > 60 and len(line.split()) > 2]
        assert not long


def test_every_rule_of_reading_has_a_page() -> None:
    for code in BUILTIN_RULES:
        assert podplan("explain", code).out.startswith(("error[", "warning[", "info["))


def test_a_page_is_made_at_once() -> None:
    podplan("explain", "spec.shm")
    before = time.process_time()
    podplan("explain", "PyTorchTrainingJob.spec.replicaSpecs.template.spec.containers.env.value")
    assert time.process_time() - before < 2


@pytest.mark.long
def test_what_becomes_of_fields_is_what_fixtures_show() -> None:
    """`make fields` writes it anew."""
    for path, text in lowered_fields.build_files().items():
        assert (lowered_fields.REPOSITORY / path).read_text() == text


def test_facts_of_other_kinds_are_not_told() -> None:
    told = field_page.explain_topic("DeepSpeedJob.spec.worker.replicas")
    ids = {fact["id"] for part in told["becomes"] for fact in part["facts"]}
    assert "podgroup.min-member" in ids
    assert not any(one.startswith(("pytorch.", "generic.", "colossalai.")) for one in ids)


def test_what_a_shell_offers_is_explained() -> None:
    words = [one.value for one in complete_topics(None, None, "JobProfile.spec.")]  # type: ignore[arg-type]
    assert "JobProfile.spec.shm" in words
    for word in words:
        assert field_page.explain_topic(word)["path"]


def test_a_field_of_spec_needs_no_spec() -> None:
    assert podplan("explain", "shm").out == podplan("explain", "spec.shm").out
    assert podplan("explain", "customCommand").code == 2  # is deeper


def test_the_example_of_a_mapping_is_one_of_six_lines() -> None:
    page = podplan("explain", "WorkloadMapping").out
    lines = page.partition("example:\n")[2].splitlines()
    assert len(lines) == 6, "as the summary of check says"
    data = yaml.safe_load("\n".join(lines))
    assert validate_against("WorkloadMapping", data) == []
    assert json.loads(podplan("explain", "WorkloadMapping", "--format", "json").out)["field"]["examples"] == [
        data
    ]
    assert "example:" not in podplan("explain", "WorkloadMapping.spec").out
