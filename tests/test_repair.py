"""Fixes are tried together; those that bring errors are withdrawn, and the others are made."""

from __future__ import annotations

import re

from podplan.checker.check import CheckResult, Summary
from podplan.core.findings import Edit, Finding, Fix, Location, Severity
from podplan.tools.fixer import FileTexts, fix_texts

# In this language a line "bad" is to become "good", but an "old" one is refused once it is changed.
LINES = ["bad", "old"]
FILE = "a.yaml"


class Checker:
    """Checks a text of lines, and counts how often it was asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked = 0

    def __call__(self, texts: FileTexts) -> CheckResult:
        self.asked += 1
        text = texts.get(FILE, self.text)
        found = [_finding(match, text) for match in re.finditer(r"^(bad|old|wrong)\n", text, re.MULTILINE)]
        summary = Summary(len(found), 0, 0, 0, 1, 1, 0, {})
        return CheckResult(
            found, summary, {FILE: text}, found, original_texts={FILE: text}, fixable_findings=found
        )


def _finding(match: re.Match[str], text: str) -> Finding:
    line = text.count("\n", 0, match.start()) + 1
    where = Location(FILE, line, 1, line, 1 + len(match[1]), (line,))
    edit = Edit(FILE, line, 1, line, where.end_column, match.start(1), match.end(1), _instead(match[1]))
    fix = Fix("write it anew", True, (edit,)) if match[1] in LINES else None
    rule = "YAML001" if match[1] == "wrong" else "ORG001"
    return Finding(rule, "x", Severity.ERROR, f"line {line}", "documented", where, "file", fix=fix)


def _instead(word: str) -> str:
    return "good" if word == "bad" else "wrong"


def test_all_fixes_that_hold_are_made_at_once() -> None:
    checker = Checker("bad\n" * 40)
    done = fix_texts(checker, unsafe=False)
    assert done.texts == {FILE: "good\n" * 40}
    assert (len(done.fixed), done.withdrawn) == (40, ())
    assert checker.asked == 2


def test_one_fix_that_does_harm_is_withdrawn_and_costs_few_checks() -> None:
    checker = Checker("bad\n" * 40 + "old\n" + "bad\n" * 23)
    done = fix_texts(checker, unsafe=False)
    assert done.texts == {FILE: "good\n" * 40 + "old\n" + "good\n" * 23}
    assert [(found.location.line, why) for found, why in done.withdrawn] == [
        (41, "it would bring YAML001: line 41")
    ]
    assert checker.asked < 20


def test_nothing_is_written_where_no_fix_holds() -> None:
    done = fix_texts(Checker("old\nold\n"), unsafe=False)
    assert (done.texts, done.fixed, len(done.withdrawn)) == ({}, (), 2)
