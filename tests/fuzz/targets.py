"""The table of targets: functions that take bytes, and their seeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple

FIXTURES = Path(__file__).parents[2] / "fixtures"
REGRESSIONS = FIXTURES / "fuzz"
MAX_SEED = 6_000  # bytes: longer ones only slow down every run

Seeds = Callable[[], Iterator[bytes]]


class Target(NamedTuple):
    """A function ``module.name`` in this package that takes bytes, and raises for an error.

    ``seeds`` are initial texts and ``words`` are inserted into them; with ``lines``, lines of different seeds
    are mixed. One input may take ``seconds``, with instrumentation. ``weight`` is its share of the time:
    higher for riskier and slower targets. ``pace`` is the approximate number of inputs per second: if inputs
    are counted instead of time, it gives as many as take the share.
    """

    module: str
    name: str
    seeds: Seeds
    words: tuple[str, ...] = ()
    lines: bool = False
    seconds: int = 10
    weight: int = 2
    pace: int = 100

    @property
    def run(self) -> Callable[[bytes], None]:
        found: Callable[[bytes], None] = getattr(import_module(f"tests.fuzz.{self.module}"), self.name)
        return found


def files(*patterns: str) -> Seeds:
    """Return the fixtures that match, without long ones."""

    def found() -> Iterator[bytes]:
        for pattern in patterns:
            for path in sorted(FIXTURES.glob(pattern)):
                if path.is_file() and path.stat().st_size <= MAX_SEED:
                    yield path.read_bytes()

    return found


def texts(*given: str) -> Seeds:
    return lambda: (text.encode() for text in given)


def both(*several: Seeds) -> Seeds:
    return lambda: (seed for seeds in several for seed in seeds())


def chosen(start: bytes, seeds: Seeds) -> Seeds:
    """Prefix seeds with bytes by which a target chooses its action."""
    return lambda: (start + seed for seed in seeds())


def arguments() -> Iterator[bytes]:
    """Yield launcher lines, one word per line, from the recorded answers of the real launchers."""
    for path in sorted((FIXTURES / "launchers").glob("*.jsonl")):
        for line in islice(path.read_text(encoding="utf-8").splitlines(), 1, 400, 8):
            words: list[str] = json.loads(line)["words"]
            yield "\n".join([path.stem, *words]).encode()


def expressions() -> Iterator[bytes]:
    """Yield CEL expressions with verdicts of Kubernetes."""
    cases = json.loads((FIXTURES / "cel" / "verdicts.json").read_text(encoding="utf-8"))
    for one in cases["cases"]:
        yield one["expression"].encode()


PROFILES = files("compile/*.yaml", "gallery/**/*.yaml", "*_job*/*/profile.yaml", "fmt/*.yaml")
CRS = files("*_job*/*/cr.yaml", "import/*/cr.yaml", "migrate/**/*.yaml", "fixes/*.yaml")
FINDINGS = files("findings/**/*.yaml")
YAML = (
    "- ", ": ", "\n  ", "---\n", "|\n", ">-\n", "&a ", "*a", "<<: ", "!!str ", "? ", "#", "\t", "\r\n",
    "\ufeff", "{", "}", "[", "]", "''", '""', "null", "~", "0x1f", "010", "1e3", ".inf", "yes", "\\",
)  # fmt: skip
OURS = (
    "apiVersion: podplan/v1", "apiVersion: batch.tensorstack.dev/v1beta1", "kind: JobProfile", "GenericJob",
    "kind: ClusterInventory", "PyTorchTrainingJob", "DeepSpeedJob", "ColossalAIJob", "spec:", "replicas: ",
    "worker", "launcher", "template:", "containers:", "environments:", "matrix:", "params:", "extends:",
    "override:", "${{ ", " }}", "$(", ")", "100000", "-1", "2147483648", "name: ", "env:", "resources:",
    "limits:", "nvidia.com/gpu", "16Gi", "shm:", "podplan: ignore[", "command:", "args:", "torchrun",
)  # fmt: skip
SHELL = (
    "$", "${A}", "${A:-b}", "$(a)", "`a`", "'", '"', "\\", "&&", "||", ";", "|", "<<E\n", "\nE\n", "{a,b}",
    "{1..9}", "#", "if ", "then ", "fi", "for a in ", "do ", "done", "case a in ", "esac", "(", ")", "~",
    "$'", "export A=", "exec ", "cd ", "torchrun ", "python ", "bash -c ", "deepspeed ", "\n",
)  # fmt: skip
CEL = (
    "object", ".spec", "has(", "all(", "exists(", "x, ", "map(", "filter(", "size(", "matches(",
    "quantity(", "url(", "cidr(", "ip(", "format", "semver(", "sets.", "optional.", "[?", "duration(",
    "timestamp(", "variables.", "&&", "||", "? : ", "!", "==", "in ", "null", "-9223372036854775808", "1.5",
)  # fmt: skip

TARGETS = {
    "read": Target(
        "documents", "read_again", both(files("yaml/*.yaml", "findings/*/*.yaml"), CRS), YAML, True,
        weight=4, pace=1_200
    ),
    "comments": Target(
        "documents",
        "comments",
        both(FINDINGS, texts("# podplan: ignore[A] until=2026-01-01 -- why\na: 1\n")),
        ("# podplan: ignore[", "] ", "until=2026-02-30", "-- ", "ignore-file[", "IMG001", ",", "\n", "a: 1"),
        True,
        pace=1_300,
    ),
    "fmt": Target("documents", "fmt", PROFILES, (*YAML, *OURS), True, 20, weight=4, pace=1_400),
    "import": Target("documents", "import_", CRS, (*YAML, *OURS), True, 30, weight=4, pace=700),
    "migrate": Target(
        "documents", "migrate", both(CRS, PROFILES), (*YAML, *OURS), True, 20, weight=4, pace=1_300
    ),
    "fixes": Target(
        "documents", "edits", chosen(b"\x00\x01\x02\x03", both(CRS, PROFILES)), YAML, True, pace=2_400
    ),
    "headers": Target(
        "documents",
        "headers",
        texts(
            "jobs.yaml -e dev --set image=a:1",
            "../../etc/passwd",
            "'a b.yaml' --set params.x='1 2'",
            "jobs.yaml -e all -e",
        ),
        ("-e ", "--set ", "params.epochs=", "'", '"', "\\", "../", "jobs.yaml", "=", "dev", "\x00"),
        pace=2_400,
    ),
    "shell": Target(
        "lines", "shell", texts("a b | c && d", "for i in 1 2; do a $i; done", "cat <<E\nx\nE\n"), SHELL,
        pace=1_900
    ),
    "words": Target(
        "lines", "words_of_bash", texts("a 'b' \"$A\" {1..3} ~/x", "--x=${A:-b c} $'\\n'"), SHELL, pace=600
    ),
    "options": Target(
        "lines",
        "options",
        arguments,
        (*SHELL, "--nproc_per_node", "--nnodes=1:2", "--include", "a@b:0,1", "-H", "--hostfile", "-np", "-x"),
        pace=3_000,
    ),
    "expressions": Target(
        "lines",
        "expression",
        texts(
            "params.a",
            "${{ params.lr * 2 }}-x",
            "params.a | default('b') | upper",
            "matrix.a if params.b else 'c'",
            "range(9) | join(',')",
            "'%s' % params.a",
            "params.l[0:2] ~ 'x'",
        ),
        ("params.", "matrix.", "environment", "metadata.name", " | ", "default(", "round", "join(", "**", "~",
         "'", "${{", "}}", "[", "]", ".__class__", "_", "if ", " else ", "not ", "*", "//", "%", "9" * 20),
        pace=8_000,
    ),
    "quantities": Target(
        "lines",
        "quantity",
        texts("500m", "16Gi", "1e3", "-1.5", "0.1", "100n", "1E18", ".5", "+1", "12e-9", "16GB"),
        ("Ki", "Mi", "Gi", "e", "E", "m", "n", "u", ".", "-", "+", "0" * 30, "9" * 30, "1e999999999"),
        weight=1, pace=100_000
    ),
    "paths": Target(
        "lines",
        "path",
        texts("spec.containers[worker].env[RANK].value", "/spec/a~1b/0", '["a.key"].b', "[0][1]"),
        ("spec", ".", "[", "]", '"', "/", "~0", "~1", "worker", "0", "²", "99999999999"),
        weight=1, pace=25_000
    ),
    "settings": Target(
        "dialogues",
        "configuration",
        both(files("**/*.toml"), texts('[lowering]\nservice-name = "{base}"\n')),
        ("[lowering]", "[[paths]]", "match = ", "preset = ", "select = ", "severity", "extend = ", "today = ",
         '"', "'''", "{", "}", "[", "]", "=", ".", "\n", "2026-02-30", "1e5", "true", "GenericJob"),
        True, weight=4, pace=600
    ),
    "baseline": Target(
        "dialogues",
        "baseline",
        texts('{"format": 1, "findings": [{"rule": "IMG001", "object": null, "level": "cr", "path": "",'
              ' "value": "", "file": "a", "message": "b"}]}'),
        ("rule", "object", "level", "path", "value", "file", "message", "times", "null", "{", "[", "-1"),
        weight=1, pace=30_000
    ),
    "cel": Target("dialogues", "cel", expressions, CEL, False, 30, pace=2_000),
    "lsp": Target(
        "dialogues", "lsp", chosen(b"\x01\x05\x09", files("lsp/project/**/*.yaml")), (*YAML, *OURS), True, 30,
        weight=6, pace=200
    ),
    "lsp-frames": Target(
        "dialogues",
        "frames",
        texts('Content-Length: 46\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"initialize"}'),
        ("Content-Length: ", "\r\n", "\r\n\r\n", "{", "}", '"method"', '"params"', '"id"', "textDocument/",
         "hover", "didOpen", "didChange", "didClose", "shutdown", "exit", '"uri"', "file:///", '"position"',
         '"text"', '"range"', '"line"', "null", "-1", "1e400", "$/cancelRequest", "workspace/"),
        pace=1_700,
    ),
    "dump": Target(
        "whole", "dump", files("compare/*/dump.yaml", "status/*/*.yaml"), (*YAML, *OURS), True, 20, pace=4_500
    ),
    "check": Target(
        "whole", "check", both(FINDINGS, CRS, PROFILES, files("kubernetes/*.yaml")), (*YAML, *OURS), True, 30,
        weight=8, pace=100
    ),
    "lower": Target("whole", "lower", both(CRS, PROFILES), (*YAML, *OURS), True, 30, weight=8, pace=800),
    "repair": Target(
        "whole", "repair", both(files("fixes/*.yaml"), FINDINGS), (*YAML, *OURS), True, 60, weight=12, pace=60
    ),
}  # fmt: skip
