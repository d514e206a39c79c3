"""Comments that silence nothing: malformed, without a reason, out of date, unused, or not heeded."""

from __future__ import annotations

import pytest

from podplan.checker.check import check_sources
from podplan.core.limits import MAX_SUPPRESSIONS
from podplan.lint.rule_selection import RuleSelection
from podplan.lint.suppression_syntax import parse_directive
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from tests.suppressing.job import ALL, HOST, JOB, RULES, WHY, beside, checked, settings_for, silenced, told

NO_RULE = "LINT002 no rule has the code, group or name"
MALFORMED = {
    "# podplan: ignore": "LINT001 this does not say which rules to ignore; the form is ",
    "# podplan: ignore[] -- x": "LINT001 this does not say which rules to ignore",
    "# podplan: ignroe[SEC001] -- x": 'LINT001 podplan knows no "ignroe" here; did you mean "ignore"',
    "# podplan: ignore-line[SEC001] -- x": 'LINT001 podplan knows no "ignore-line" here; did you mean',
    "# podplan: disable[SEC001] -- x": 'LINT001 podplan knows no "disable" here; did you mean "ignore"?',
    "# podplan: noqa": 'LINT001 podplan knows no "noqa" here; did you mean "ignore"?',
    "# podplan: OFF": 'LINT001 podplan knows no "OFF" here; did you mean "ignore"?',
    "# podplan: frobnicate[SEC001]": 'LINT001 podplan knows no "frobnicate" here; the form is # podplan: ig',
    "# podplan: frobnicate SEC001": 'LINT001 podplan knows no "frobnicate" here; the form is # podplan: ig',
    "# podplan: silence": 'LINT001 podplan knows no "silence" here; the form is # podplan: ignore[RULE]',
    "# podplan: skip this file": 'LINT001 podplan knows no "skip" here; did you mean "ignore"?',
    "# podplan: ignore[SEC001] because": 'LINT001 this cannot be read from "because" on',
    "# podplan: ignore[SEC001] until=soon -- x": 'LINT001 until wants a day as YYYY-MM-DD, not "soon"',
    "# podplan: ignore[SEC001] until=2026-02-30 -- x": "LINT001 until wants a day",
    "# podplan: ignore[SEC001] -- x until=2026-12-31": "LINT001 until stands before",
    "# podplan: ignore[SEC001]": "LINT003 this does not say why, so that it silences nothing",
    "# podplan: ignore[SEC001] --": "LINT003 this does not say why",
    "# podplan: ignore[SEC0O1] -- x": f'{NO_RULE} "SEC0O1"; did you mean "SEC0',
    "# podplan: ignore[ssh-host-keys-x] -- x": f'{NO_RULE} "ssh-host-keys-x"',
    "# podplan: ignore[host-namespace] -- x": f'{NO_RULE} "host-namespace"; did you mean "host-na',
    "# podplan: ignore[S] -- x": f'{NO_RULE} "S"; podplan rules',
    "# podplan: ignore[ALL] -- x": f'{NO_RULE} "ALL"',
    "# podplan: ignore[YAML001] -- x": 'LINT006 "YAML001" cannot be ignored',
    "# podplan: ignore[LINT] -- x": 'LINT006 "LINT" cannot be ignored',
}


@pytest.mark.parametrize("comment", MALFORMED)
def test_what_is_wrong_silences_nothing(comment: str) -> None:
    result = checked(beside(11, comment))
    (fault,) = (one for one in result.findings if one.rule.startswith("LINT"))
    assert silenced(result) == []
    assert f"{fault.rule} {fault.message}".startswith(MALFORMED[comment])
    assert (fault.location.line, fault.location.column) == (11, JOB.splitlines()[10].__len__() + 3)
    assert len(result.findings) == 4


@pytest.mark.parametrize("body", ["rendered from a.yaml", "see the README", "", "checks this file"])
def test_other_comments_are_none_of_ours(body: str) -> None:
    assert parse_directive(body) is None


def test_nothing_below() -> None:
    (fault,) = (
        one for one in checked(f"{JOB}# podplan: ignore[SEC] {WHY}\n").findings if one.rule == "LINT001"
    )
    assert fault.message.startswith("nothing stands below")


def test_a_reason_is_wanted_unless_the_configuration_says_otherwise() -> None:
    result = checked(beside(11, "# podplan: ignore[SEC001]"), require_reasons=False)
    assert [(one.rule, one.reason) for one in silenced(result)] == [("SEC001", "no reason given")]


@pytest.mark.parametrize(
    ("today", "is_silenced"), [("2026-12-30", True), ("2026-12-31", True), ("2027-01-01", False), ("", True)]
)
def test_expiry(today: str, is_silenced: bool) -> None:
    result = checked(beside(11, f"# podplan: ignore[SEC001] until=2026-12-31 {WHY}"), today=today)
    assert bool(silenced(result)) is is_silenced
    assert ("LINT004 11" in told(result.findings)) is not is_silenced
    assert result.summary.today == today
    assert checked(JOB, today=today).summary.today == "", "the day made no difference"


def test_unused_rules_are_told_one_by_one() -> None:
    result = checked(beside(11, f"# podplan: ignore[SEC001, SEC002] {WHY}"))
    (fault,) = (one for one in result.findings if one.rule.startswith("LINT"))
    assert (
        fault.message == '"SEC002" finds nothing here that could be ignored; remove "SEC002" from the comment'
    )


def test_unused_is_said_only_of_what_was_looked_for() -> None:
    text = beside(8, f"# podplan: ignore[SEC005] {WHY}")
    assert "LINT005 8" in told(checked(text, RuleSelection()).findings)
    assert not any("LINT" in one for one in told(checked(text).findings)), "SEC005 is off"
    broken = text.replace("replicas: 1", "replicas: one")
    assert not any("LINT" in one for one in told(checked(broken, RuleSelection()).findings)), "not lowered"
    some = settings_for(RuleSelection())._replace(environments=("dev",))
    found = check_sources([parse_yaml(text.encode(), "job.yaml")], some, Loader()).findings
    assert not any("LINT" in one for one in told(found)), "not all environments"


def test_nothing_is_unused_in_a_file_that_was_not_read_whole() -> None:
    text = beside(8, f"# podplan: ignore[SEC002] {WHY}") + "---\na: [\n"
    assert "LINT005" not in [one.rule for one in checked(text.replace("privileged: true", "")).findings]


def test_mandatory_rules() -> None:
    mandatory = RULES._replace(mandatory=("SEC001",))
    for rule in ("SEC001", "SEC"):
        result = checked(beside(11, f"# podplan: ignore[{rule}] {WHY}"), mandatory)
        assert told(result.findings)[:2] == [HOST, "LINT006 11"]
        assert silenced(result) == []
    assert HOST in told(checked(JOB, mandatory._replace(ignore=("SEC",))).findings), "mandatory rules are on"


def test_no_ignores() -> None:
    result = checked(beside(11, f"# podplan: ignore[SEC001, RES] {WHY}"), respect_suppressions=False)
    assert told(result.findings) == ALL


def test_as_many_comments_as_are_read() -> None:
    text = JOB + "# podplan: ignore-file[SEC] -- x\n" * (MAX_SUPPRESSIONS + 1)
    (told,) = checked(text).limit_hits
    assert "turn the rules off" in told.message
