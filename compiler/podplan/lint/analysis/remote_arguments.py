"""How launchers pass arguments to the shells of the workers, by version, according to their sources.

DeepSpeed joins the words of pdsh with spaces, and the shell on each worker splits them again; what is quoted
before that changed with the version (deepspeed/launcher/runner.py and multinode_runner.py of 0.9.2 to
0.16.5). colossalai run joins without any quoting (colossalai/cli/launcher/run.py).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import lru_cache

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.lint.analysis.remote_shell import ReceivedWords, parse_remote_words

Version = tuple[int, ...]

NEXT_WORD = "."  # represents the next word

# Characters without a special meaning for any shell, for shlex and for pdsh.
_PLAIN_WORD = compile_lazily(r"[\w./:=,@+-]+", re.ASCII)
_PDSH_PLACEHOLDER = compile_lazily("%[hnu]")
_ESCAPED_PERCENT = compile_lazily("%%(?=[hnu])")

# Tags such as 0.9.0, chat-0.9.0 and v072_torch112.
_DOTTED_VERSION = compile_lazily(r"(?<![\d.])v?(0\.\d{1,2}\.\d{1,2})(?![\d.])")
_PACKED_VERSION = compile_lazily(r"(?<![\w.])v0(\d)(\d)(?![\d.])")


class QuotingRegime(NamedTuple):
    """How versions from ``since`` on send one argument: the text that the remote shell reads.

    pdsh replaces ``%h``, ``%u`` and ``%n`` by the host, the user and the number of the worker, and ``%%`` by
    one ``%``, in all that it sends.
    """

    name: str
    since: Version
    quote_word: Callable[[str], str]
    uses_pdsh: bool = True


def parse_deepspeed_version(image: object) -> Version | None:
    """Return the version of DeepSpeed in the tag of a DeepSpeed image; None if the tag has none."""
    if not isinstance(image, str):
        return None
    path, _, tag = image.partition("@")[0].rpartition(":")
    if "deepspeed" not in path.lower():
        return None
    dotted = set(_DOTTED_VERSION.findall(tag))
    if len(dotted) == 1:
        return tuple(map(int, dotted.pop().split(".")))
    packed = _PACKED_VERSION.search(tag)
    return (0, int(packed[1]), int(packed[2])) if packed and not dotted else None


def _single_quote(word: str) -> str:
    return word if word.startswith("-") else f"'{word}'"


def _double_quote(word: str) -> str:
    return '"{}"'.format(word.replace('"', '\\"')) if " " in word else word


def _make_shlex_quoter(quote_first: Callable[[str], str]) -> Callable[[str], str]:
    """A pass of shlex over the words, and then single quotes. Raises ValueError where shlex does."""
    return lambda word: " ".join(map(_single_quote, shlex.split(quote_first(word))))


def _make_quoter(quote: str) -> Callable[[str], str]:
    return lambda word: word if word.startswith("-") else f"{quote}{word}{quote}"


DEEPSPEED_REGIMES: tuple[QuotingRegime, ...] = (
    QuotingRegime("DeepSpeed up to 0.10.0", (0, 0, 0), _single_quote),
    QuotingRegime("DeepSpeed 0.10.1 and 0.10.2", (0, 10, 1), _make_shlex_quoter(str)),
    QuotingRegime("DeepSpeed 0.10.3 to 0.12.3", (0, 10, 3), _make_shlex_quoter(_make_quoter("'"))),
    QuotingRegime("DeepSpeed 0.12.4", (0, 12, 4), _make_shlex_quoter(_make_quoter('"'))),
    QuotingRegime("DeepSpeed since 0.12.5", (0, 12, 5), _double_quote),
)
# Both launchers send the script itself unchanged, in every version.
SCRIPT_REGIME = QuotingRegime("the script is sent without quotes", (0, 0, 0), str)
COLOSSALAI_REGIME = QuotingRegime("colossalai run", (0, 0, 0), str, uses_pdsh=False)


def find_regimes(version: Version | None) -> tuple[QuotingRegime, ...]:
    """Return the regime of a version; all of them if the version is not known."""
    if version is None:
        return DEEPSPEED_REGIMES
    return ([regime for regime in DEEPSPEED_REGIMES if regime.since <= version][-1],)


def transmit_word(word: str, regime: QuotingRegime) -> ReceivedWords:
    """Return the words that the program on a worker gets for ``word``, if another word follows it."""
    try:
        quoted = regime.quote_word(word)
    except ValueError:
        return ReceivedWords(error="a quote is never closed")
    if regime.uses_pdsh:
        parts = quoted.split("%%")
        placeholder = next(filter(None, map(_PDSH_PLACEHOLDER.search, parts)), None)
        if placeholder:
            return ReceivedWords(substitution=placeholder[0])
        quoted = "%".join(parts)
    received = parse_remote_words(f"{quoted} {NEXT_WORD}")
    if received.error or received.terminator or received.substitution:
        return received
    if received.words[-1:] != (NEXT_WORD,):
        return ReceivedWords(received.words, absorbs_next=True)
    return ReceivedWords(received.words[:-1])


def is_plain_word(word: str) -> bool:
    """Whether every shell reads a word as it is, however it is sent."""
    return _PLAIN_WORD.fullmatch(word) is not None


@lru_cache(maxsize=512)
def survives_transmission(word: str, regime: QuotingRegime) -> bool:
    """Whether a worker receives a word unchanged, or as quoted for the shell of the worker."""
    if is_plain_word(word):
        return True
    received = transmit_word(word, regime)
    if received == ReceivedWords((word,)):
        return True
    if regime.uses_pdsh:
        word = _ESCAPED_PERCENT.sub("%", word)
    is_single_word = len(received.words) == 1 and received == ReceivedWords(received.words)
    return is_single_word and (received.words[0] == word or _is_quoted_by_hand(word, received.words[0]))


def _is_quoted_by_hand(word: str, received: str) -> bool:
    """Whether the whole word, or the whole value of an option, is quoted for the shell of the worker."""
    start = len(word) - len(word.lstrip("-"))
    option, equals, value = word.partition("=") if start else ("", "", word)
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return quoted and received == f"{option}{equals}{value[1:-1]}"


def suggest_spelling(
    text: str, regimes: tuple[QuotingRegime, ...], expand_word: Callable[[str], str] = lambda word: word
) -> str:
    """Return how to write a word so that the workers receive it under all ``regimes``; "" for no simple way.

    ``expand_word`` returns a word as it is before it is sent.
    """
    option, equals, value = text.partition("=") if text.startswith("-") else ("", "", text)
    expected = ReceivedWords((expand_word(text),))
    doubled = text.replace("%", "%%")
    for candidate in (doubled, shlex.quote(text), f"{option}{equals}{shlex.quote(value)}"):
        if all(transmit_word(expand_word(candidate), regime) == expected for regime in regimes):
            return candidate
    return ""
