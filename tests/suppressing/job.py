"""A job with findings to suppress, functions that add comments, and its findings."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.checker.check import CheckResult, check_sources
from podplan.core.findings import Finding
from podplan.lint.lint_config import LintConfig, resolve_default_rules
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection
from podplan.pipeline import PipelineSettings
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml

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
RULES = RuleSelection(select=("SEC001", "SEC002", "LINT", "YAML010"))


def settings_for(selection: RuleSelection = RULES, **terms: object) -> PipelineSettings:
    made = LintConfig(all_policies=load_builtin_policies(), selection=selection)._replace(**terms)  # type: ignore[arg-type]
    return PipelineSettings(policies=resolve_default_rules(made).policies, lint_config=made)


def checked(text: str, selection: RuleSelection = RULES, **terms: object) -> CheckResult:
    return check_sources([parse_yaml(text.encode(), "job.yaml")], settings_for(selection, **terms), Loader())


def told(found: Iterable[Finding]) -> list[str]:
    return [f"{one.rule} {one.location.line}" for one in found]


def silenced(result: CheckResult) -> list[Finding]:
    return [one for one in result.all_findings if one.suppressed]


def beside(line: int, comment: str, text: str = JOB) -> str:
    """Return ``text`` with a comment at the end of a line (1-based)."""
    lines = text.splitlines()
    lines[line - 1] += f"  {comment}"
    return "\n".join(lines) + "\n"


def above(line: int, comment: str, text: str = JOB) -> str:
    """Return ``text`` with a comment on its own line above a line (1-based)."""
    lines = text.splitlines()
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    return "\n".join([*lines[: line - 1], " " * indent + comment, *lines[line - 1 :]]) + "\n"
