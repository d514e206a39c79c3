"""What launchers make of arguments, against bash, which splits the texts that they would send."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.lint.analysis.remote_arguments import (
    COLOSSALAI_REGIME,
    DEEPSPEED_REGIMES,
    QuotingRegime,
    find_regimes,
    parse_deepspeed_version,
    suggest_spelling,
    survives_transmission,
    transmit_word,
)
from podplan.lint.analysis.remote_shell import ReceivedWords, parse_remote_words
from podplan.redaction.detection import is_secret
from tests.thoroughness import examples

# No sign here makes bash write a file or run another program.
SAFE = st.text(alphabet="ab{},.1-=' \"\\[]:~^", min_size=1, max_size=12)

WORDS = [
    "plain",
    "--lr=1e-4",
    "--p=x y",
    "a b",
    "it's",
    '--j={"lr":1}',
    '--j={"lr":1,"wd":2}',
    '{"lr": 1}',
    "--betas={0.9,0.95}",
    "--seeds={1..3}",
    "{a,b{c,d}}",
    "{a}",
    "{}",
    "{,}",
    "1{},}",
    "{a},}",
    "{},},",
    "--x=a\\b",
    "--q='a b'",
    '"q"',
    "-x",
    "a,b",
    "x#y",
    "--r=[1,2]",
    "a=b",
]


def bash_words(text: str) -> tuple[str, ...] | None:
    """The arguments that bash makes of a command line; None where it refuses it."""
    script = f"set -f; printf '%s\\0' {text} ."
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, timeout=10, check=False)
    if done.returncode or not done.stdout.endswith(b".\0"):
        return None
    return tuple(done.stdout.decode().split("\0")[:-2])


def deepspeed_sends(word: str, version: str) -> str:
    """What each version of DeepSpeed puts into the line of pdsh, told independently of the table."""
    if version == "0.14.2":
        return f'"{word.replace(chr(34), chr(92) + chr(34))}"' if " " in word else word
    words = [word]
    if version in ("0.10.1", "0.11.1", "0.12.4"):
        quote = {"0.10.1": "", "0.11.1": "'", "0.12.4": '"'}[version]
        words = shlex.split(word if word[:1] == "-" else quote + word + quote)
    return " ".join(one if one[:1] == "-" else f"'{one}'" for one in words)


@pytest.mark.parametrize("version", ["0.9.2", "0.10.1", "0.11.1", "0.12.4", "0.14.2"])
def test_each_regime_sends_what_bash_then_splits(version: str) -> None:
    [regime] = find_regimes(tuple(map(int, version.split("."))))
    for word in WORDS:
        try:
            sent = deepspeed_sends(word, version)
        except ValueError:
            assert transmit_word(word, regime).error
            continue
        words = bash_words(sent)
        assert transmit_word(word, regime).words == (words or ()), (word, sent)
        assert bool(transmit_word(word, regime).error) == (words is None), (word, sent)


@settings(max_examples=examples(100), deadline=None)
@given(SAFE)
def test_colossalai_sends_words_as_they_are(word: str) -> None:
    got = transmit_word(word, COLOSSALAI_REGIME)
    words = bash_words(word)
    if words is None:
        assert got.error or got.absorbs_next
    elif not word.startswith("~") and "=~" not in word and ":~" not in word and " ~" not in word:
        assert got == ReceivedWords(words) or got.absorbs_next


@pytest.mark.parametrize("regime", [*DEEPSPEED_REGIMES, COLOSSALAI_REGIME], ids=lambda regime: regime.name)
def test_what_is_advised_arrives(regime: QuotingRegime) -> None:
    for word in WORDS:
        better = suggest_spelling(word, (regime,))
        if better:
            assert transmit_word(better, regime) == ReceivedWords((word,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$HOME/x", ReceivedWords(substitution="$HOME")),
        ("a $(date) b", ReceivedWords(("a",), substitution="$(date)")),
        ("a;b", ReceivedWords(("a",), terminator=";")),
        ("a\nb", ReceivedWords(("a",), terminator="\n")),
        ("'a", ReceivedWords(error="the single quote is never closed")),
    ],
)
def test_what_only_a_running_shell_could_tell_is_said_to_be_so(text: str, expected: ReceivedWords) -> None:
    assert parse_remote_words(text) == expected


def test_a_comment_takes_the_rest_of_the_command_away() -> None:
    assert transmit_word("#1", COLOSSALAI_REGIME).absorbs_next
    assert not survives_transmission("#1", COLOSSALAI_REGIME)
    assert survives_transmission("x#1", COLOSSALAI_REGIME)


def test_braces_make_at_most_so_many_words() -> None:
    assert len(parse_remote_words("{1..99999999}{1..99999999}").words) < 10_000


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("deepspeed/deepspeed:v072_torch112_cu117", (0, 7, 2)),
        ("t9kpublic/deepspeed:chat-0.9.0", (0, 9, 0)),
        ("registry.example.com:5000/nlp/deepspeed:0.16.5@sha256:" + 64 * "0", (0, 16, 5)),
        ("registry.example.com/deepspeed:py3.9_pytorch_2.0.1", None),
        ("registry.example.com/nlp/train:0.9.0", None),
        ("deepspeed:23.06-py3", None),
        ("deepspeed:0.9.0-torch0.10.1", None),
        (None, None),
    ],
)
def test_the_version_is_told_by_the_tag_or_not_at_all(
    image: str | None, version: tuple[int, ...] | None
) -> None:
    assert parse_deepspeed_version(image) == version


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("HF_TOKEN", "hf_abcdefgh", True),
        ("WANDB_API_KEY", "0123abcd0123", True),
        ("DB_PASSWORD", "hunter2", True),
        ("DATABASE", "postgres://train:hunter2@db/x", True),
        ("PAD_TOKEN", "padding", False),
        ("HF_TOKEN", "$(TOKEN_OF_SECRET)", False),
        ("HF_TOKEN", "/run/secrets/token", False),
        ("SORT_KEY", "created_at", False),
        ("TOKENIZERS_PARALLELISM", "false", False),
        ("MAX_TOKENS", "4096000", False),
        ("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE", False),
        ("PROXY", "http://proxy.example.com:3128", False),
    ],
)
def test_secrets_are_told_by_name_and_form(name: str, value: str, expected: bool) -> None:
    assert is_secret(name, value) is expected
