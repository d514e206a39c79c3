"""Shell strings: the words that the real bash makes of them, the commands in them, no string that hurts."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.launchers.quoting import quote_words, resplit_line
from podplan.launchers.shell import ParsedScript, parse_script
from podplan.launchers.shell_nodes import Block
from podplan.launchers.words import MAX_ARGUMENT_LENGTH, MAX_ARGUMENTS_LENGTH
from tests.thoroughness import examples
from tests.work_counts import work

BASH = shutil.which("bash")
VARIABLES = {"HOME": "/root", "A": "one", "B": "two  words ", "E": "", "Q": '"it\'s"', "G": "a{b,c}"}
LOCALE = {"LC_ALL": "C.UTF-8"}


def in_bash(text: str, where: Path) -> list[str] | None:
    """The words that a program gets from bash; None where bash refuses the line."""
    assert BASH is not None
    line = f'printf "%s\\0" ::: {text}'
    run = subprocess.run(
        [BASH, "-c", line], capture_output=True, env=VARIABLES | LOCALE, cwd=where, check=False
    )
    return run.stdout.decode().split("\0")[1:-1] if run.returncode == 0 else None


LINES = [
    "plain words here",
    "--lr=1e-3 --name 'a b' \"c d\"",
    '{"lr":1}',
    '{"lr":1,"b":2}',
    '--config={"a":1,"b":[1,2]}',
    "it's",
    "'it'\\''s'",
    '"a \\"b\\" $A"',
    "$A ${A} ${A}b $B",
    '"$B" x$B"y"',
    "$E",
    '"$E" end',
    "${E:-fallback one} ${E-set} ${A:+yes} ${E:+no}x",
    '${E:-"a  b"} "${E:-a  b}" "${E:-\'a b\'}"',
    "${E:-${A:-deep}}",
    "$Q '$A' \\$A \\\\",
    "~ ~/x a~ X=~/y '~'",
    "a{1..3} {c..a} {01..10..4} {3..1} {-1..1}",
    "{a,b}{c,d} {a{b,c},d} {a} {} {a,} {,} x{,y}",
    "{a,b {a,b}} {{a,b} a}b{c,d} 1{},} {},} {}{a,b} {a..} {x},y}",
    "$G {$A,b} {'a,b',c} ${A}{1,2}",
    "$'tab\\tend\\x41\\101\\u00e9' $\"x $A\"",
    "a\\\nb c \\\n d",
    "a#b #c",
    "$ $1 a$ 5% $",
    "(1)",
    "f(x)",
    "a;b",
    '"open',
    "${A",
    "tail\\",
    "[1,2] a=b =",
    "é 日本 ½",
]


@pytest.mark.parametrize("line", LINES)
def test_words_are_those_of_bash(line: str, tmp_path: Path) -> None:
    mine = resplit_line(line, VARIABLES | {"1": ""})
    theirs = in_bash(line, tmp_path)
    if mine.error:
        assert theirs is None, f"bash takes it: {theirs}; we say {mine.error}"
    elif mine.operator != ";":
        assert [word.text for word in mine.words] == theirs
        assert all(word.is_known for word in mine.words)


# No character that starts another command: bash really runs what comes out.
SAFE = st.text(st.sampled_from("ab1 \t'\"\\{},.~=-#:/%é\n"), max_size=24)
REFERENCES = st.sampled_from(
    ["$A", "${B}", '"$B"', "$E", "${E:-x y}", '"${A}', "${A:+z}", "$Q", "{1..3}", "$'\\n'"]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.one_of(SAFE, REFERENCES), max_size=5).map("".join))
def test_any_words_are_those_of_bash(line: str) -> None:
    if "\n" in line:
        line = line.replace("\n", " ")
    mine, theirs = resplit_line(line, VARIABLES), in_bash(line, Path("/"))
    if mine.error:
        assert theirs is None
    elif all(word.is_known for word in mine.words):
        assert [word.text for word in mine.words] == theirs


WORDS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12), max_size=5
)


@settings(deadline=None)
@given(WORDS)
def test_what_is_quoted_comes_back(words: list[str]) -> None:
    back = resplit_line(quote_words(words))
    assert [word.text for word in back.words] == words
    assert (back.error, back.operator) == ("", "")
    assert all(word.is_known for word in back.words)


@pytest.mark.parametrize(
    ("line", "operator", "offset", "words"),
    [
        ("a; b", ";", 1, ["a"]),
        ("a > b", ">", 2, ["a"]),
        ("a&b", "&", 1, ["a"]),
        ("a # b", "#", 2, ["a"]),
        ("#a", "#", 0, []),
        ("a|b", "|", 1, ["a"]),
    ],
)
def test_what_is_no_word_is_named(line: str, operator: str, offset: int, words: list[str]) -> None:
    split = resplit_line(line)
    assert (split.operator, split.offset) == (operator, offset)
    assert [word.text for word in split.words] == words


def commands(text: str, **variables: str | None) -> list[tuple[str, bool]]:
    """The commands of a string, each with whether it may run never or often."""
    return [
        (" ".join(w.text for w in c.words), c.is_conditional) for c in parse_script(text, variables).commands
    ]


SCRIPTS: list[tuple[str, list[tuple[str, bool]]]] = [
    ("cd /a && torchrun x.py", [("cd /a", False), ("torchrun x.py", False)]),
    ("a &&\n b ||\n\n c", [("a", False), ("b", False), ("c", True)]),
    ("a || b\nc", [("a", False), ("b", True), ("c", False)]),
    ("a || exit 1; b", [("a", False), ("exit 1", True), ("b", False)]),
    ("if [ -f x ]; then a; elif b; then c; else d; fi\ne",
     [("[ -f x ]", False), ("a", True), ("b", True), ("c", True), ("d", True), ("e", False)]),
    ("for i in 1 2; do a $i; done; b", [("a $i", True), ("b", False)]),
    ("for ((i=0; i<3; i++)); do a; done", [("a", True)]),
    ("while ! nc -z h 1; do sleep 1; done; a", [("nc -z h 1", True), ("sleep 1", True), ("a", False)]),
    ("case $X in\n a|b) a;;\n (c) c ;;\n *) d\nesac; e",
     [("a", True), ("c", True), ("d", True), ("e", False)]),
    ("f() { a; }; function g { b; }; c", [("a", True), ("b", True), ("c", False)]),
    ("(a; b) && { c; }", [("a", False), ("b", False), ("c", False)]),
    ("[[ -n $X && a < b ]] && a", [("a", False)]),
    ("((n = 1 > 0)); a", [("a", False)]),
    ("x=(1 'b )' 3); a", [("a", False)]),
    ("cat <<EOF >f\nit's $(\nEOF\na", [("cat", False), ("a", False)]),
    ("cat <<-'E' && b\n\tx\n\tE\na", [("cat", False), ("b", False), ("a", False)]),
    ("a 2>&1 >log <<<x | tee log &", [("a", False), ("tee log", False)]),
    ("# only a comment\n\n a # b", [("a", False)]),
    ("a \"$(b ')' \"c\")\" `d` d", [("a $(b ')' \"c\") `d` d", False)]),
    ("! a", [("a", False)]),
    ("A=1 B='x y' a", [("a", False)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SCRIPTS)
def test_commands_are_found(text: str, expected: list[tuple[str, bool]]) -> None:
    assert parse_script(text, {}).syntax_error is None
    assert commands(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in SCRIPTS])
def test_bash_can_read_them_too(text: str) -> None:
    assert BASH is not None
    assert subprocess.run([BASH, "-n", "-c", text], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("a 'b", 2),
        ('a "b', 2),
        ("a $(b", 2),
        ("a ${b", 2),
        ("a `b", 2),
        ("a (b)", 2),
        ("a )", 2),
        ("if a; then b", 0),
        ("for i in 1; do a", 0),
        ("a; fi", 3),
        ("a >", 2),
        ("a; { b", 3),
        ("case x in a) b", 0),
    ],
)
def test_what_no_shell_reads(text: str, offset: int) -> None:
    fault = parse_script(text, {}).syntax_error
    assert fault is not None
    assert fault.offset == offset
    if BASH is not None:
        assert subprocess.run([BASH, "-n", "-c", text], capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("N=4; a $N", "a 4"),
        ("export N=4 && a --n=$N", "a --n=4"),
        ("N=$A; M=${N}x; a $M", "a onex"),
        ("OPTIONS='--n 2'; a $OPTIONS \"$OPTIONS\"", "a --n 2 --n 2"),
        ("N=1 | b; a $N", "a $N"),
        ("(N=1); a $N", "a $N"),
        ("x && N=1; a $N", "a 1"),
        ("x || A=1; a $A", "a $A"),
        ("A=$(hostname); a $A", "a $A"),
        ("read A; a $A", "a $A"),
        ("unset A; a $A", "a $A"),
        ("((A += 1)); a $A", "a $A"),
        ("((A++)); a $A", "a $A"),
        ("let A=1; a $A", "a $A"),
        ("((A == 1)); a $A", "a one"),
        ("A+=x; a $A", "a $A"),
        ("a $NOBODY ${NOBODY:-2}", "a $NOBODY ${NOBODY:-2}"),
        ("A=5 a $A", "a one"),
    ],
)
def test_variables_on_the_way(text: str, last: str) -> None:
    assert commands(text, A="one")[-1][0] == last


def words_of(read: ParsedScript) -> list[list[str]]:
    return [[word.text for word in command.words] for command in read.commands]


def test_positional_words_keep_their_places() -> None:
    from podplan.launchers.words import Word

    given = [Word("bash"), Word("--n=2", ("args", 1), 0, 5), Word("train me.py", ("args", 2), 0, 11)]
    read = parse_script('exec torchrun "$@" $1 $#', {}, given)
    assert words_of(read) == [["exec", "torchrun", "--n=2", "train me.py", "--n=2", "2"]]
    assert [word.path for word in read.commands[0].words[2:4]] == [("args", 1), ("args", 2)]
    assert words_of(parse_script('shift; a "$@"', {}, given))[-1] == ["a", "train me.py"]
    assert words_of(parse_script('shift "$N"; a "$@"', {}, given))[-1] == ["a", "$@"]
    assert words_of(parse_script("set -euo pipefail; a $1", {}, given))[-1] == ["a", "--n=2"]
    assert words_of(parse_script("set -- x; a $1", {}, given))[-1] == ["a", "$1"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('case "$1" in ps) a;; worker|chief) b; X=2;; *) c;; esac; d $X', [("b", False), ("d 2", False)]),
        ('case "$1" in ps) X=2;; esac; d $X', [("d 1", False)]),
        ('case "$1" in w*) a;; worker) b;; esac', [("a", True), ("b", True)]),
        ('case "$1" in ps) a;; worker) b;& c) c;; esac', [("b", False), ("c", True)]),
        ('case "$2" in 0) a;; *) b;; esac', [("a", True), ("b", True)]),
        ('case "$9" in ps) a;; esac', [("a", True)]),
        ('x || case "$1" in worker) a;; *) b;; esac', [("x", False), ("a", True), ("b", True)]),
        ('f() case "$1" in worker) a;; *) b;; esac; f', [("a", True), ("b", True), ("f", False)]),
        ('if x; then case "$1" in "worker") a;; esac; fi', [("x", False), ("a", True)]),
    ],
)
def test_a_case_whose_word_is_known_has_one_branch(text: str, expected: list[tuple[str, bool]]) -> None:
    from podplan.launchers.words import Word

    given = [Word("run.sh"), Word("worker"), Word("0")]
    read = parse_script(text, {"X": "1"}, given)
    found = [(" ".join(word.text for word in each.words), each.is_conditional) for each in read.commands]
    assert found == expected


def test_many_branches_of_a_case() -> None:
    text = "case a in " + "b) c;; " * 2_000 + "esac"
    assert len(parse_script(text, {}).commands) == 1_000


def test_offsets_lead_to_what_is_written() -> None:
    text = "cd /x && torchrun --nnodes=\"$N\" 'a b.py'"
    torchrun = parse_script(text, {"N": "2"}).commands[1]
    assert [text[word.start : word.end] for word in torchrun.words] == [
        "torchrun",
        '--nnodes="$N"',
        "'a b.py'",
    ]
    assert text[torchrun.start : torchrun.end] == text[9:]


def test_sh_does_not_expand_braces() -> None:
    assert words_of(parse_script("a {b,c}", {}, is_bash=False)) == [["a", "{b,c}"]]


ANY = st.text(st.sampled_from("ab \n'\"\\$`{}()[]<>|&;#=~*,.-1") | st.characters(), max_size=80)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.one_of(ANY, st.sampled_from(
    ["if ", "then ", "fi", "case ", " in ", "esac", "for ", "do ", "done", "${", "$((", "<<E", "f()"]
)), max_size=12).map("".join))  # fmt: skip
def test_no_string_hurts(text: str) -> None:
    for bash in (True, False):
        for command in parse_script(text, {"a": "b c", "b": "$a"}, is_bash=bash).commands:
            assert 0 <= command.start <= command.end <= len(text)
            assert all(0 <= word.start <= word.end <= len(text) for word in command.words)
    resplit_line(text)


@pytest.mark.parametrize(
    "unit",
    ["'", '"', "$(", "${", "`", "(", "{", "{a,", "{a,b}", "a;", "if ", "<<E\n", "$a ", "${a:-", "case x in ",
     "((", "a=$a$a;", "\\\n", "# ", "x=(", "$'", "~", "{1..999}", "a "],
)  # fmt: skip
def test_work_grows_with_the_length_only(unit: str) -> None:
    def scripted(length: int) -> None:
        parse_script(unit * (length // len(unit)), {"a": "x y " * 5})

    scripted(20)  # what is made once, such as regular expressions
    few, many = (work(partial(scripted, length)) for length in (1_000, 4_000))
    assert many < 4.1 * few


def test_variables_make_no_more_than_linux_takes() -> None:
    (command,) = parse_script("$a " * 50, {"a": "x" * 100_000}).commands
    made = sum(len(word.text) for word in command.words)
    assert MAX_ARGUMENTS_LENGTH - 100_000 < made <= MAX_ARGUMENTS_LENGTH


def test_values_are_not_split_once_there_are_too_many() -> None:
    """A string of 128 KB that named a value of 100 KB again and again took 15 seconds."""

    times = 0

    class Value(str):
        """A value that notes how often it is split."""

        def split(self, *_: Any) -> list[str]:
            nonlocal times
            times += 1
            return str.split(self)

    value = Value("x " * 10_000)
    (command,) = parse_script("$a " * 1_000, {"a": value}).commands
    assert command.words[0].is_known
    assert not command.words[-1].is_known
    assert 1 < times < 25


def test_a_string_too_long_for_linux() -> None:
    fault = parse_script("a" * (MAX_ARGUMENT_LENGTH + 1), {}).syntax_error
    assert fault is not None
    assert fault.message == "the string has 131,073 characters; Linux takes 131,072 as one argument"


def outline(nodes: tuple[Any, ...]) -> list[Any]:
    """Blocks as lists that begin with their kind, and commands as text."""
    return [
        [node.kind, *outline(node.nodes)] if isinstance(node, Block) else node.words[0].text for node in nodes
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a; b && c", ["a", "b", "c"]),
        ("{ a; b; } | c", [["{", "a", "b"], "c"]),
        ("(a || (b; c)) && d", [["(", "a", ["(", "b", "c"]], "d"]),
        ("if a; then b; else c; fi; d", [["if", "a", "b", "c"], "d"]),
        ("until a b; do c; done", [["until", "a", "c"]]),
        ("for i in 1 2; do a; done; b", [["for", "a"], "b"]),
        ("f() { a; }\nf", [["function", "a"], "f"]),
        ("case $X in a) b;; esac", [["case", "b"]]),
        ("case x in x) b;; esac; c", [["{", "b"], "c"]),
        ("case x in a) b;; esac", [["case"]]),
        ("{ a; b", []),  # the block never ends
    ],
)
def test_commands_stand_in_their_blocks(text: str, expected: list[Any]) -> None:
    assert outline(parse_script(text, {}).nodes) == expected


def test_the_part_of_a_block_and_a_negation_are_kept() -> None:
    (loop,) = parse_script("while ! nc -z a 1; do sleep 1; done", {}).nodes
    assert isinstance(loop, Block)
    assert [(node.part, node.is_negated) for node in loop.nodes] == [("", True), ("do", False)]


@pytest.mark.parametrize("block", ["(a)", "{ a; }", "if a; then b; fi", "(a) 2>&1", "{ a; } >x 2>y"])
@pytest.mark.parametrize("operator", ["||", "&&", "|", ";", "&"])
def test_the_operator_behind_a_block_is_that_of_the_block(block: str, operator: str) -> None:
    first, second = parse_script(f"{block} {operator} c", {}).nodes
    assert (first.operator_after, second.operator_before) == (operator, operator)


def test_a_command_behind_a_line_break_is_no_alternative() -> None:
    commands = parse_script("a || b\nc\n(d) || e\nf", {}).commands
    assert [command.words[0].text for command in commands if command.is_conditional] == ["b", "e"]


def test_redirections_have_their_targets() -> None:
    (command,) = parse_script("a 2>/tmp/err > $OUT/x >> $unknown", {"OUT": "/data"}).commands
    found = [(one.operator, one.target.text, one.target.is_known) for one in command.redirections]
    assert found == [(">", "/tmp/err", True), (">", "/data/x", True), (">>", "$unknown", False)]
