"""Looks up every locked package in vulnerability databases, with pip-audit: `make audit`.

Exits with 0 if each was looked up and none has a vulnerability, with 1 if one has, and with 3 if one could
not be looked up: pip-audit itself reports "no known vulnerabilities", and exits with 0, if its service does
not know any of the packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LOCK_FILE = Path(__file__).parents[1] / "deploy" / "requirements.lock"
SERVICES = ("pypi", "osv")
NO_VULNERABILITIES, HAS_VULNERABILITIES, NOT_AUDITED = 0, 1, 3


def run_pip_audit(service: str) -> str:
    """Return the answer of a service about the lock, as JSON; "" if there is none."""
    options = ("--requirement", str(LOCK_FILE), "--require-hashes", "--disable-pip", "--format", "json")
    command = [sys.executable, "-m", "pip_audit", "-s", service, "--progress-spinner", "off", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def parse_pins(lock: str) -> dict[str, str]:
    """Return the pinned versions of a lock, by name."""
    pins = (line.split()[0] for line in lock.splitlines() if "==" in line and line[:1].isalpha())
    return dict(pin.split("==") for pin in pins)


def build_verdict(pinned: Mapping[str, str], answers: Iterable[str]) -> tuple[int, list[str]]:
    """Return the exit code and the messages, from the answers of the services."""
    unknown = dict(pinned)
    vulnerability_by_id: dict[str, str] = {}
    for answer in answers:
        for dependency in json.loads(answer or "{}").get("dependencies", ()):
            if dependency["name"] in unknown and dependency.get("version") == unknown[dependency["name"]]:
                del unknown[dependency["name"]]
            vulnerability_by_id |= {
                vuln["id"]: _format_vulnerability(dependency, vuln) for vuln in dependency.get("vulns", ())
            }
    messages = list(vulnerability_by_id.values())
    if unknown:
        names = ", ".join(f"{name} {version}" for name, version in unknown.items())
        messages.append(
            f"NOT AUDITED: {len(unknown)} of {len(pinned)} locked packages could not be looked up, since no"
            f" service that knows of vulnerabilities answers for them here: {names}"
        )
    if vulnerability_by_id:
        return HAS_VULNERABILITIES, messages
    return (
        (NOT_AUDITED, messages)
        if unknown
        else (NO_VULNERABILITIES, [f"no known vulnerability in {len(pinned)} locked packages"])
    )


def _format_vulnerability(package: Mapping[str, Any], vulnerability: Mapping[str, Any]) -> str:
    fix_versions = ", ".join(vulnerability["fix_versions"])
    hint = f"fixed in {fix_versions}; make lock takes it" if fix_versions else "no version is without it"
    return f"{package['name']} {package['version']}: {vulnerability['id']}; {hint}"


def main() -> int:
    """Print the messages, and return the exit code."""
    pinned = parse_pins(LOCK_FILE.read_text())
    code, messages = build_verdict(pinned, map(run_pip_audit, SERVICES))
    print("\n".join(messages), file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
