"""Commands of any shape and length: nothing raises, work grows with the words only, and has bounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.core.limits import MAX_COMMAND_TEXT, LimitExceeded
from podplan.launchers import wrappers
from podplan.launchers.discovery import find_programs
from podplan.launchers.shell import parse_script
from podplan.launchers.words import Word
from tests.containers import Env, container, only
from tests.thoroughness import examples, mark_others
from tests.work_counts import slowdown, work

ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = [
    "torchrun",
    "deepspeed",
    "accelerate",
    "launch",
    "mpirun",
    "horovodrun",
    "colossalai",
    "run",
    "python",
    "env",
]
PARTS = [
    *NAMES,
    "-m",
    "-c",
    "bash",
    "--",
    "-",
    "--nnodes",
    "--nnodes=$(A)",
    "-np",
    "-x",
    "$A",
    "$(B)",
    "a.py",
    "--n",
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=6), max_size=8)
ENTRIES = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("AB"), "value": st.text("$(AB) x", max_size=9)})
)


@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, TEXTS, ENTRIES)
def test_no_command_hurts(command: list[str], args: list[str], env: list[dict[str, str]]) -> None:
    for one in (command, ["bash", "-c", " ".join(command), *command]):
        written = {"command": one, "args": args}
        for invocation in find_programs({**written, "env": env}).invocations:
            for option in invocation.options.values():
                key, index = option.path
                assert 0 <= option.word.start <= option.word.end <= len(written[str(key)][int(index)])


@settings(max_examples=examples(100), deadline=None)
@given(ODD, ODD, ODD, ODD)
def test_no_container_hurts(command: Any, args: Any, env: Any, env_from: Any) -> None:
    find_programs({"command": command, "args": args, "env": env, "envFrom": env_from})


LAUNCHERS = [
    "torchrun",
    "deepspeed",
    "accelerate launch",
    "mpirun",
    "colossalai run",
    "python",
    "bash",
    "env",
]


@pytest.mark.parametrize(
    "word",
    mark_others(
        ["--nnodes=2", "--n", "$X", "x", "--include=a", "-m", "bash", "env", "mpirun", "-c"], every=3
    ),
)
def test_work_grows_with_the_words_only(word: str) -> None:
    def looked_at(number: int) -> None:
        for launcher in LAUNCHERS:
            find_programs(container([*launcher.split(), *[word] * number]))
            find_programs(container(["bash", "-c", f"{launcher} {' '.join([word] * number)}"]))

    looked_at(2)  # what is made once, such as the options of launchers
    few, many = (work(partial(looked_at, number)) for number in (50, 200))
    assert many < 4.02 * few


def nested(levels: int, times: int) -> Env:
    """Variables each of which has a shell read the next one so many times."""
    return {f"S{one}": f'sh -c "$S{one + 1}";' * times for one in range(levels)}


ARGUMENTS = '"$@" ' * 25_000
ASSIGNED = " ".join(f"A{one}=" for one in range(10_000))
THOUSANDS = {f"A{one}": "" for one in range(10_001)}


@pytest.mark.parametrize(
    ("given", "limit"),
    mark_others(
        [
            (container(["a"] * 10_001), "words"),
            (container(["sh", "-c", "a"], env=THOUSANDS), "words"),
            (container(["env", "A=", "a"], env=THOUSANDS), "words"),
            (container(["mpirun", "bash", "-c", "a"], env=THOUSANDS), "words"),
            (container(["sh", "-c", "a " * 10_000]), "words"),
            (container(["sh", "-c", ARGUMENTS, *["a"] * 9_000]), "words"),
            (container(["sh", "-c", ARGUMENTS.replace("@", "*"), *["a"] * 9_000]), "words"),
            (container(["sh", "-c", 'sh -c "$S0"'], env=nested(4, 100)), "words"),
            (container(["sh", "-c", f"{ASSIGNED.replace(' ', '; ')}; a"]), "words"),
            (container(["sh", "-c", f"{ASSIGNED} a"]), "words"),
            (container(["a", *["$(A)"] * 20], env={"A": "a" * 131_000}), "characters"),
            (container(["sh", "-c", '"$@" ' * 50, "", "a" * 100_000]), "characters"),
        ],
        every=3,
        columns=2,
    ),
    ids=[
        "words",
        "variables",
        "variables and one more",
        "variables under mpirun",
        "shell",
        "all arguments",
        "as one",
        "shells",
        "assignments",
        "assignments before a command",
        "references",
        "text",
    ],
)
def test_what_a_small_file_would_make_much_of_is_given_up(given: dict[str, Any], limit: str) -> None:
    """A file of 150 KB filled the memory with the arguments that it repeated."""
    with pytest.raises(LimitExceeded, match=f'container "train" have more than [0-9,]+ {limit};'):
        find_programs({"name": "train", **given})


def test_what_is_at_the_bounds_is_read() -> None:
    assert find_programs(container(["a"] * 10_000)).invocations[0].arguments
    with pytest.raises(LimitExceeded):
        find_programs(container(["a"] * 10_001))
    most = ["a" * (MAX_COMMAND_TEXT // 4)] * 4
    assert len(find_programs(container(most)).invocations) == 1
    with pytest.raises(LimitExceeded):
        find_programs(container([*most, "a"]))


def test_so_many_programs_are_found() -> None:
    assert len(find_programs(container(["sh", "-c", "a;" * 201])).invocations) == 200


@pytest.mark.parametrize(
    "line",
    [["a"], ["sh", "a.sh"], ["env", "torchrun", "a.py"], ["mpirun", "-np", "2", "a"], ["deepspeed", "a.py"]],
)
def test_variables_do_not_count_where_no_shell_looks_at_them(line: list[str]) -> None:
    """Ten thousand variables for a program were refused, for what only a shell would make of them."""
    [found] = [one for one in find_programs(container(line, env=THOUSANDS)).invocations if not one.started_by]
    assert len(found.variables) == len(THOUSANDS)


def test_variables_count_once_however_many_shells_look_at_them() -> None:
    most = dict(list(THOUSANDS.items())[:9_900])
    line = "; ".join(["env B=1 sh -c 'env C=1 torchrun a.py'"] * 3)
    assert len(find_programs(container(["env", "A=1", "sh", "-c", line], env=most)).invocations) == 3


@pytest.mark.parametrize("line", ["A=1;", "A=1; a;"])
def test_a_variable_that_a_shell_sets_copies_no_others(line: str) -> None:
    """2 MB of assignments, which are no commands, beside 9,000 variables took a minute."""

    def read(variables: int) -> None:
        parse_script(line * 500, dict.fromkeys(map(str, range(variables)), ""))

    assert slowdown(read, 10, 10_000) < 3


def test_commands_see_what_the_shell_has_set_before_them() -> None:
    line = "A=1; B=2 torchrun a.py; A=2; C=3; sh -c 'D=4; torchrun b.py'; torchrun c.py; A=5"
    found = find_programs(container(["sh", "-c", line], env={"E": "0"})).invocations
    assert [one.variables for one in found] == [
        {"E": "0", "A": "1", "B": "2"},
        {"E": "0", "A": "2", "C": "3", "D": "4"},
        {"E": "0", "A": "2", "C": "3"},
    ]


@pytest.mark.parametrize(
    "line",
    [
        "# all of $@ or $*\n" * 200 + 'torchrun "$@"',
        "cat <<'EOF'\n" + "print('$@')\n" * 200 + 'EOF\ntorchrun "$@"',
        "echo '" + "$@ " * 200 + '\'; torchrun "$@"',
    ],
    ids=["comments", "here-document", "quoted"],
)
def test_arguments_count_where_the_shell_puts_them(line: str) -> None:
    found = find_programs(container(["bash", "-c", line, "bash", *["a.py"] * 90])).invocations
    assert [len(one.arguments) for one in found if one.launcher == "torchrun"] == [89]


def test_programs_behind_programs_are_looked_behind_so_far() -> None:
    """Each looked at all words that were left, so that 500 KB of env took minutes."""
    assert only(find_programs(container(["env"] * 50 + ["torchrun", "a.py"]))).launcher == "torchrun"
    assert only(find_programs(container(["env"] * 51 + ["torchrun", "a.py"]))).launcher == "other"


def test_each_word_that_env_sets_a_variable_with_is_gone_through_once() -> None:
    copied = 0

    class Words(tuple[Word, ...]):
        """Words that count what is copied where a part of them is taken."""

        def __getitem__(self, at: Any) -> Any:
            nonlocal copied
            found = super().__getitem__(at)
            if not isinstance(at, slice):
                return found
            copied += len(found)
            return Words(found)

    words = Words(Word(text) for text in ("env", *(f"A{number}=1" for number in range(500)), "python"))
    inner = wrappers.unwrap_command(words)
    assert inner is not None
    assert [word.text for word in inner.words] == ["python"]
    assert len(inner.variables) == 500
    assert copied < 4 * len(words)
