"""JUnit XML, which most CI systems support: a test suite for each file, a test case for each finding."""

from __future__ import annotations

import re
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from podplan.checker.check import CheckResult
from podplan.core.findings import Finding, Severity
from podplan.report.sanitization import truncate_text
from podplan.report.summary import format_summary
from podplan.workspace.files import relative_to_root

# Characters that XML 1.0 does not allow, not even as a reference (https://www.w3.org/TR/xml/#charsets).
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: CheckResult) -> str:
    """Render errors and warnings as failures; an info is a passed test case with output."""
    findings = sorted(result.findings, key=lambda found: found.location.file)
    suites = [
        _render_suite(relative_to_root(file), list(of_file))
        for file, of_file in groupby(findings, key=lambda found: found.location.file)
    ]
    if not suites:
        case = '    <testcase classname="podplan" name="check"/>\n'
        suites = [f'  <testsuite name="podplan" tests="1" failures="0" errors="0">\n{case}  </testsuite>\n']
    failures = sum(found.severity > Severity.INFO for found in findings)
    tests = max(len(findings), 1)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites name={_quote_attribute(format_summary(result))} "
        f'tests="{tests}" failures="{failures}" errors="0">\n' + "".join(suites) + "</testsuites>\n"
    )


def _render_suite(file: str, findings: list[Finding]) -> str:
    failures = sum(found.severity > Severity.INFO for found in findings)
    head = f'name={_quote_attribute(file)} tests="{len(findings)}" failures="{failures}" errors="0"'
    return (
        f"  <testsuite {head}>\n"
        + "".join(_render_case(file, found) for found in findings)
        + "  </testsuite>\n"
    )


def _render_case(file: str, finding: Finding) -> str:
    location = finding.location
    name = f"{finding.rule} {finding.name} ({location.line}:{location.column})"
    head = (
        f"    <testcase classname={_quote_attribute(file)} name={_quote_attribute(name)} "
        f"file={_quote_attribute(file)} line={_quote_attribute(str(location.line))}>\n"
    )
    message = truncate_text(finding.message)
    text = _escape_xml_text(
        "\n".join([f"{file}:{location.line}:{location.column}: {message}", *_format_help(finding)])
    )
    if finding.severity > Severity.INFO:
        attributes = f"type={_quote_attribute(str(finding.severity))} message={_quote_attribute(message)}"
        body = f"      <failure {attributes}>{text}</failure>\n"
    else:
        body = f"      <system-out>{text}</system-out>\n"
    return head + body + "    </testcase>\n"


def _format_help(finding: Finding) -> list[str]:
    return [f"help: {truncate_text(finding.help)}"] if finding.help else []


def _quote_attribute(text: str) -> str:
    return quoteattr(_replace_illegal(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _escape_xml_text(text: str) -> str:
    return escape(_replace_illegal(text), {"\r": "&#13;"})


def _replace_illegal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
