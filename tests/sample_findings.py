"""Findings for the tests of all formats, with hostile text that would do harm if it were not escaped."""

from __future__ import annotations

from podplan.checker.check import CheckResult, Summary
from podplan.core.findings import Finding, InstanceCounts, Location, LoweredReference, Related, Severity

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

PROFILE = (
    "apiVersion: podplan/v1\n"
    "kind: JobProfile\n"
    "metadata: {name: bert}\n"
    "spec:\n"
    "  hardware: h100x8\n"
    "  processes: 4\n"
    "\tenv: {GREETING: 你好, TO: wörld}\n"
    "  run: [" + ", ".join(f"--option-{number:03}" for number in range(60)) + ", train.py]\n"
)
NODES = "spec:\n  hardware:\n    h100x8: {gpus: 8}\n"
EVIL = "apiVersion: v1\n\x1b[31mkind\x1b[0m: ::error::Pod ##[error]\u202ex\n"
# A name with a special meaning for GitHub, XML, Markdown, a terminal or a URI.
EVIL_FILE = "jobs/::error file=a,line=1::|`<b>\x1b[2J\n.yaml"
TEXTS = {"jobs/bert.yaml": PROFILE, "clusters/prod 1.yaml": NODES, EVIL_FILE: EVIL}


def where(file: str, line: int, column: int, end: int, *path: str | int, end_line: int = 0) -> Location:
    return Location(file, line, column, end_line or line, end, tuple(path))


def of_job(name: str) -> dict[str, str]:
    return {"apiVersion": "podplan/v1", "kind": "JobProfile", "name": name, "namespace": "nlp"}


FINDINGS = [
    Finding(
        "DIST001",
        "processes-differ-from-gpus",
        ERROR,
        "torchrun starts 4 processes in each Pod of 8 GPUs: 128 of 256 GPUs idle",
        "documented",
        where("jobs/bert.yaml", 6, 14, 15, "spec", "processes"),
        "lowered",
        object=of_job("bert"),
        lowered=LoweredReference("Pod", "bert-worker-0", "0-31", ("spec", "containers", 0, "args")),
        instances=InstanceCounts(12, 24, ("size=large", "size=small", "size=tiny", "size=huge")),
        related=(
            Related(where("jobs/bert.yaml", 5, 13, 19, "spec", "hardware"), "gives nvidia.com/gpu: 8"),
            Related(where("clusters/prod 1.yaml", 3, 5, 11, "spec", "hardware", "h100x8"), "8 GPUs"),
        ),
        help="set processes: auto [100 %]",
    ),
    Finding(
        "YAML003",
        "tab",
        ERROR,
        "a tab stands where YAML wants spaces",
        "documented",
        where("jobs/bert.yaml", 7, 18, 20),
        "file",
    ),
    Finding(
        "TORCH009",
        "long-line",
        WARNING,
        'no file "train.py"',
        "anchored",
        where("jobs/bert.yaml", 8, 969, 977, "spec", "run", 60),
        "profile",
        object=of_job("bert"),
    ),
    Finding(
        "SEC002",
        "privileged-container",
        ERROR,
        "::error file=/etc/passwd::pwned ##[group] <script>alert(1)</script> | `x` @all\n"
        "\x1b[2J\u202e\x00\ud800",
        "documented",
        where(EVIL_FILE, 2, 1, 5, "\x1b[31mkind\x1b[0m"),
        "cr",
        object={"apiVersion": "v1", "kind": "Pod", "name": "<b>", "namespace": "a/b"},
        related=(Related(where(EVIL_FILE, 1, 1, 3), "]]> --> \x1b[1m"),),
    ),
    Finding(
        "ORG001",
        "own-rule",
        INFO,
        "a rule of an organisation",
        "assumed",
        where("jobs/bert.yaml", 4, 1, 3, "spec", end_line=5),
        "profile",
        object=of_job("bert"),
    ),
]
SUPPRESSED = FINDINGS[2]._replace(
    rule="IMG001", name="no-tag", message="no tag", suppressed=True, reason="known; OPS-7"
)
RESULT = CheckResult(
    FINDINGS,
    Summary(3, 1, 1, 1, 4, 30, 64, {"Deployment (apps/v1)": 2, "##[error] \x1b[31mHelm template": 1}),
    TEXTS,
    [*FINDINGS, SUPPRESSED],
)
CLEAN = CheckResult([], Summary(0, 0, 0, 0, 1, 1, 4, {}), {}, [])
