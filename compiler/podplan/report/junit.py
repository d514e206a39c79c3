"""JUnit XML, which most CI systems show: a test suite for each file, a test case for each finding."""

from __future__ import annotations

import re
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from podplan.checker.check import Result
from podplan.core.findings import Finding, Severity
from podplan.report.sanitization import cut
from podplan.report.summary import summary_line
from podplan.workspace.files import from_root

# What XML 1.0 does not allow at all, not even as a reference (https://www.w3.org/TR/xml/#charsets).
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: Result) -> str:
    """Errors and warnings are failures; an info is a passed test case that has it for its output."""
    findings = sorted(result.findings, key=lambda found: found.location.file)
    suites = [
        _suite(from_root(file), list(of_file))
        for file, of_file in groupby(findings, key=lambda found: found.location.file)
    ]
    if not suites:
        case = '    <testcase classname="podplan" name="check"/>\n'
        suites = [f'  <testsuite name="podplan" tests="1" failures="0" errors="0">\n{case}  </testsuite>\n']
    failures = sum(found.severity > Severity.INFO for found in findings)
    tests = max(len(findings), 1)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites name={_attribute(summary_line(result))} "
        f'tests="{tests}" failures="{failures}" errors="0">\n' + "".join(suites) + "</testsuites>\n"
    )


def _suite(file: str, findings: list[Finding]) -> str:
    failures = sum(found.severity > Severity.INFO for found in findings)
    head = f'name={_attribute(file)} tests="{len(findings)}" failures="{failures}" errors="0"'
    return f"  <testsuite {head}>\n" + "".join(_case(file, found) for found in findings) + "  </testsuite>\n"


def _case(file: str, found: Finding) -> str:
    where = found.location
    name = f"{found.rule} {found.name} ({where.line}:{where.column})"
    head = (
        f"    <testcase classname={_attribute(file)} name={_attribute(name)} "
        f"file={_attribute(file)} line={_attribute(str(where.line))}>\n"
    )
    message = cut(found.message)
    text = _text("\n".join([f"{file}:{where.line}:{where.column}: {message}", *_help(found)]))
    if found.severity > Severity.INFO:
        told = f"type={_attribute(str(found.severity))} message={_attribute(message)}"
        body = f"      <failure {told}>{text}</failure>\n"
    else:
        body = f"      <system-out>{text}</system-out>\n"
    return head + body + "    </testcase>\n"


def _help(found: Finding) -> list[str]:
    return [f"help: {cut(found.help)}"] if found.help else []


def _attribute(text: str) -> str:
    return quoteattr(_legal(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _text(text: str) -> str:
    return escape(_legal(text), {"\r": "&#13;"})


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
