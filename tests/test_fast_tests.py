"""tests/fast.txt lists what `make test-fast` runs: no processes, a golden of each kind, no missing files."""

from __future__ import annotations

import re
from pathlib import Path

from tests.golden_cases import FIXTURES, KINDS, cases
from tests.rows import each_row

TESTS = Path(__file__).parent
LISTED = (TESTS / "fast.txt").read_text(encoding="utf-8").splitlines()
FILES = [line for line in LISTED if "::" not in line]
# One file may: it starts Python twice, to see what is imported.
STARTS_PROCESSES = {"tests/test_layers.py"}
PROCESSES = re.compile(
    r"^(import|from) subprocess|^from tests\.command import .*\bpodplan\b|Pop[e]n", re.MULTILINE
)


def test_the_list_is_sorted_and_names_what_exists() -> None:
    assert sorted(set(LISTED)) == LISTED
    assert [line for line in LISTED if not (TESTS.parent / line.partition("::")[0]).is_file()] == []


def test_there_is_a_golden_of_each_kind() -> None:
    golden = "tests/test_golden.py::test_golden["
    listed = [line.removeprefix(golden)[:-1] for line in LISTED if line.startswith(golden)]
    assert [name.partition("/")[0] for name in listed] == sorted(KINDS)
    assert set(listed) <= {f"{case.id}-{name}" for case in cases() for name in case.goldens}
    mistake = next(line for line in LISTED if "::test_mistakes[" in line).partition("[")[2][:-1]
    assert (FIXTURES / "findings" / "policies" / mistake).is_dir()


@each_row("file", FILES)
def test_no_file_of_the_list_starts_processes_or_is_long(file: str) -> None:
    text = (TESTS.parent / file).read_text(encoding="utf-8")
    assert file in STARTS_PROCESSES or not PROCESSES.search(text)
    assert not re.search(r"mark\.long\b", text)
