"""Look up every locked package among known vulnerabilities, with pip-audit: `make audit`.

Exits with 0 where each was looked up and none has any, with 1 where one has, and with 3 where not each could
be looked up: pip-audit itself says "no known vulnerabilities", and exits with 0, where its service knows none
of the packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[1] / "deploy" / "requirements.lock"
SERVICES = ("pypi", "osv")
CLEAN, VULNERABLE, UNKNOWN = 0, 1, 3


def asked(service: str) -> str:
    """The answer of a service about the lock, as JSON; "" where there is none."""
    options = ("--requirement", str(LOCK), "--require-hashes", "--disable-pip", "--format", "json")
    command = [sys.executable, "-m", "pip_audit", "-s", service, "--progress-spinner", "off", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def packages(lock: str) -> dict[str, str]:
    """The versions that a lock pins, by name."""
    pins = (line.split()[0] for line in lock.splitlines() if "==" in line and line[:1].isalpha())
    return dict(pin.split("==") for pin in pins)


def verdict(pinned: Mapping[str, str], answers: Iterable[str]) -> tuple[int, list[str]]:
    """The exit code and what to say, from the answers of the services."""
    unknown = dict(pinned)
    found: dict[str, str] = {}
    for answer in answers:
        for one in json.loads(answer or "{}").get("dependencies", ()):
            if one["name"] in unknown and one.get("version") == unknown[one["name"]]:
                del unknown[one["name"]]
            found |= {vuln["id"]: _told(one, vuln) for vuln in one.get("vulns", ())}
    said = list(found.values())
    if unknown:
        names = ", ".join(f"{name} {version}" for name, version in unknown.items())
        said.append(
            f"NOT AUDITED: {len(unknown)} of {len(pinned)} locked packages could not be looked up, since no"
            f" service that knows of vulnerabilities answers for them here: {names}"
        )
    if found:
        return VULNERABLE, said
    return (
        (UNKNOWN, said) if unknown else (CLEAN, [f"no known vulnerability in {len(pinned)} locked packages"])
    )


def _told(package: Mapping[str, Any], vulnerability: Mapping[str, Any]) -> str:
    fixed = ", ".join(vulnerability["fix_versions"])
    hint = f"fixed in {fixed}; make lock takes it" if fixed else "no version is without it"
    return f"{package['name']} {package['version']}: {vulnerability['id']}; {hint}"


def main() -> int:
    """Prints what there is to say; the exit code."""
    pinned = packages(LOCK.read_text())
    code, said = verdict(pinned, map(asked, SERVICES))
    print("\n".join(said), file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
