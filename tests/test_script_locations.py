"""Findings about words of scripts: their line and column, and what suppresses them."""

from __future__ import annotations

import textwrap

import pytest

from podplan.core.findings import Finding
from podplan.lint.rule_selection import RuleSelection
from tests.suppressing.job import checked, silenced

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: {kind}
metadata: {{name: train, namespace: nlp}}
spec:
  {head}
  replicaSpecs:
  - type: worker
    replicas: 2
    template:
      spec:
        terminationGracePeriodSeconds: 600
        containers:
        - name: train
          image: registry.example.com/nlp/train:7
          command: [bash, -c]
          args:
"""
GENERIC = JOB.format(kind="GenericJob", head="successRules: [{worker: [0, 1]}]")
PYTORCH = JOB.format(kind="PyTorchTrainingJob", head="runPolicy: {backoffLimit: 3}")


def report(text: str) -> list[Finding]:
    return checked(text, RuleSelection(extend_select=("ALL",))).findings


def place(text: str, rule: str) -> str:
    """What a rule is reported at: the number of the line, and the text between the columns."""
    found = next(one.location for one in report(text) if one.rule == rule)
    line = text.splitlines()[found.line - 1]
    end = found.end_column - 1 if found.end_line == found.line else None
    return f"{found.line}: {line[found.column - 1 : end]}"


def job(head: str, args: str) -> str:
    return head + textwrap.indent(textwrap.dedent(args).strip("\n"), " " * 10) + "\n"


SCRIPT = """
- {style}
  set -u
  torchrun --nnodes=7 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29400 train.py
"""


@pytest.mark.parametrize(
    ("head", "args", "rule", "where"),
    [
        (PYTORCH, SCRIPT.format(style="|"), "DIST002", "19: --nnodes=7"),
        (PYTORCH, SCRIPT.format(style=">-").replace("-u", "-u;"), "DIST002", "19: --nnodes=7"),
        (PYTORCH, "- torchrun --nnodes=7 train.py", "DIST002", "17: --nnodes=7"),
        (PYTORCH, "- 'torchrun --nnodes=7 train.py'", "DIST002", "17: --nnodes=7"),
        (
            PYTORCH,
            "- |\n  cd a\n  bash -c 'torchrun --nnodes=7 t.py'",
            "DIST002",
            "19: 'torchrun --nnodes=7 t.py'",
        ),
        (PYTORCH, "- |\n  torchrun --nonsense t.py", "TORCH001", "18: --nonsense"),
        (
            PYTORCH,
            "- |\n  cd a\n  export MASTER_ADDR=localhost\n  python t.py",
            "DIST004",
            "19: MASTER_ADDR=localhost",
        ),
        (GENERIC, "- |\n  cd a\n  python t.py | tee log", "LIFE017", "19: python"),
        (GENERIC, "- |\n  echo $(service.worker[0].host)\n  python t.py | tee log", "LIFE017", "19: python"),
        (GENERIC, "- |\n  python t.py\n  sleep infinity", "LIFE021", "19: sleep"),
        (GENERIC, "- |\n  python t.py \\\n    --lr 1\n    --last", "EXEC011", "20: --last"),
        (GENERIC, "- |\n  python t.py \\\n    --lr 1 \\\n    # --last\n    data=x", "EXEC011", "21: data=x"),
        (GENERIC, "- |\n  cd a\n  until nslookup b; do sleep 1; done", "GEN003", "19: nslookup"),
        (GENERIC, "- |\n  cd a\n  echo $(NOPE)", "EXEC003", "19: $(NOPE)"),
        (GENERIC, "- |\n  cd a\n  echo $(replicas[nobody])", "GEN002", "19: $(replicas[nobody])"),
        (GENERIC, "- |\n  cd a\n  x --password=hunter2hunter2", "SEC021", "19: hunter2hunter2"),
        (GENERIC, "- |\n  python t.py | tee log", "LIFE024", "18: python"),
        (GENERIC, "- >-\n  cd a;\n  # eight GPUs\n  torchrun --standalone t.py", "EXEC013", "19: #"),
        (GENERIC, '- "cd a;\n  # eight GPUs\n  torchrun --standalone t.py"', "EXEC013", "18: #"),
        (GENERIC, "- >-\n  # eight GPUs\n  torchrun --standalone t.py", "EXEC013", "18: #"),
    ],
)
def test_a_word_of_a_script_has_its_line(head: str, args: str, rule: str, where: str) -> None:
    assert place(job(head, args), rule) == where


@pytest.mark.parametrize(
    "args",
    [
        "- | # podplan: ignore[LIFE017] -- known\n  cd a\n  python t.py | tee log",
        "# podplan: ignore[LIFE017] -- known\n- |\n  cd a\n  python t.py | tee log",
    ],
)
def test_a_comment_at_the_head_of_a_script_covers_its_lines(args: str) -> None:
    result = checked(job(GENERIC, args), RuleSelection(extend_select=("ALL",)))
    line = 19 if args.startswith("- ") else 20
    assert [(one.rule, one.location.line) for one in silenced(result)] == [("LIFE017", line)]
    assert not {"LIFE017", "LINT005"} & {one.rule for one in result.findings}


@pytest.mark.parametrize(
    "args",
    [
        "- |\n  cd a;\n  # eight GPUs\n  torchrun --standalone t.py",
        "- >-\n  torchrun --standalone t.py\n  # the first line\n  # and the second",
        "- >-\n  torchrun --standalone t.py # and a remark\n  that goes on here",
        "- >\n  cd a\n\n  # eight GPUs\n\n  torchrun --standalone t.py",
        "- >-\n  echo 'a # b'\n  && torchrun --standalone t.py",
        "- >-\n  echo a#b\n  && torchrun --standalone t.py",
    ],
)
def test_a_comment_that_takes_in_no_command_is_silent(args: str) -> None:
    assert not [one.message for one in report(job(GENERIC, args)) if one.rule == "EXEC013"]


@pytest.mark.parametrize(
    "args",
    [
        "- |\n  python t.py \\\n    --lr 1 \\\n    # --last\n  echo done",
        "- |\n  python t.py \\\n    --lr 1 \\\n    # --last",
        "- |\n  if true; then\n    python t.py\n    # next\n    echo done\n  fi",
        "- |\n  if true; then\n    python t.py \\\n      --lr 1 \\\n    # next\n    echo done\n  fi",
        "- |\n  cat <<E\n  a \\\n    # b\n    c\n  E",
    ],
)
def test_a_comment_at_the_end_of_a_continued_command_is_silent(args: str) -> None:
    assert not [one.message for one in report(job(GENERIC, args)) if one.rule == "EXEC011"]
