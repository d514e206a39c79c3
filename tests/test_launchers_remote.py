"""What arrives on other hosts of the words that somebody wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from podplan.launchers import remote
from podplan.launchers.quoting import resplit

Line = Callable[[Sequence[str]], str]


@pytest.mark.parametrize(
    ("line", "words", "arrive"),
    [
        (remote.deepspeed, ["t.py", "--name", "a b"], ["t.py", "--name", "a b"]),
        (remote.deepspeed, ['{"lr": 1}'], ['{"lr": 1}']),
        (remote.deepspeed, ['{"lr":1}'], ["{lr:1}"]),
        (remote.deepspeed, ['--c={"a":1,"b":2}'], ["--c=a:1", "--c=b:2"]),
        (remote.deepspeed, ["a\\b", "~"], ["ab", "/root"]),
        (remote.deepspeed_before_0_10_1, ['{"lr":1}', "a b"], ['{"lr":1}', "a b"]),
        (remote.deepspeed_before_0_10_1, ["--p=x y"], ["--p=x", "y"]),
        (remote.deepspeed_before_0_10_1, ['--j={"lr":1}'], ["--j={lr:1}"]),
        (remote.colossalai, ["t.py", "--p=x y", "'a b'"], ["t.py", "--p=x", "y", "a b"]),
    ],
)
def test_what_arrives(line: Line, words: list[str], arrive: list[str]) -> None:
    back = resplit(line(words), {"HOME": "/root"})
    assert [word.text for word in back.words] == arrive
    assert (back.fault, back.operator) == ("", "")


@pytest.mark.parametrize(
    ("line", "word", "fault", "operator"),
    [
        (remote.deepspeed, "(1)", '"(" is not expected here', ""),
        (remote.deepspeed, "it's", "the single quote is never closed", ""),
        (remote.deepspeed_before_0_10_1, "it's", "the single quote is never closed", ""),
        (remote.colossalai, "a;b", "", ";"),
        (remote.colossalai, "#1", "", "#"),
    ],
)
def test_what_breaks_the_line(line: Line, word: str, fault: str, operator: str) -> None:
    back = resplit(line(["--x", word]))
    assert (back.fault, back.operator) == (fault, operator)
