"""A job with findings to silence, comments put into it, and what is found in it then."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.checker.check import Result, check_sources
from podplan.core.findings import Finding
from podplan.lint.lint_config import Terms, default_ruling
from podplan.lint.registry import ours
from podplan.lint.rule_selection import Selection
from podplan.pipeline import Settings
from podplan.workspace import Reader
from podplan.yaml import read

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata:
  name: count
spec:
  replicaSpecs:
  - type: main
    replicas: 2
    template:
      spec:
        hostNetwork: true
        containers:
        - name: main
          image: busybox:1.36
          securityContext: {privileged: true}
  - type: side
    replicas: 1
    template:
      spec:
        hostIPC: true
        containers:
        - name: side
          image: busybox:1.36
"""
HOST, IPC, PRIVILEGED = "SEC001 11", "SEC001 20", "SEC002 15"
ALL = [HOST, PRIVILEGED, IPC]
WHY = "-- our own nodes"
RULES = Selection(select=("SEC001", "SEC002", "LINT", "YAML010"))


def settings_for(selection: Selection = RULES, **terms: object) -> Settings:
    made = Terms(known=ours(), selection=selection)._replace(**terms)  # type: ignore[arg-type]
    return Settings(policies=default_ruling(made).policies, terms=made)


def checked(text: str, selection: Selection = RULES, **terms: object) -> Result:
    return check_sources([read(text.encode(), "job.yaml")], settings_for(selection, **terms), Reader())


def told(found: Iterable[Finding]) -> list[str]:
    return [f"{one.rule} {one.location.line}" for one in found]


def silenced(result: Result) -> list[Finding]:
    return [one for one in result.with_suppressed if one.suppressed]


def beside(line: int, comment: str, text: str = JOB) -> str:
    """``text`` with a comment at the end of a line (1-based)."""
    lines = text.splitlines()
    lines[line - 1] += f"  {comment}"
    return "\n".join(lines) + "\n"


def above(line: int, comment: str, text: str = JOB) -> str:
    """``text`` with a comment on a line of its own above a line (1-based)."""
    lines = text.splitlines()
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    return "\n".join([*lines[: line - 1], " " * indent + comment, *lines[line - 1 :]]) + "\n"
