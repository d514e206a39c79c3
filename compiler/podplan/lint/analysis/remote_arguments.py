"""How launchers hand arguments to the shells of the workers, by version, as their sources do it.

DeepSpeed joins the words of pdsh by blanks, and the shell on each worker splits them again; what is quoted
before that changed with the version (deepspeed/launcher/runner.py and multinode_runner.py of 0.9.2 to
0.16.5). colossalai run joins without any quoting (colossalai/cli/launcher/run.py).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import lru_cache

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.lint.analysis.remote_shell import Arrival, arrival

Version = tuple[int, ...]

NEXT = "."  # stands for the word that follows

# Characters that mean nothing to any shell, to shlex or to pdsh.
_PLAIN = pattern(r"[\w./:=,@+-]+", re.ASCII)
_OF_PDSH = pattern("%[hnu]")
_DOUBLED = pattern("%%(?=[hnu])")

# Tags such as 0.9.0, chat-0.9.0 and v072_torch112.
_DOTTED = pattern(r"(?<![\d.])v?(0\.\d{1,2}\.\d{1,2})(?![\d.])")
_PACKED = pattern(r"(?<![\w.])v0(\d)(\d)(?![\d.])")


class Regime(NamedTuple):
    """How the versions from ``since`` on send one argument: the text that the remote shell reads.

    pdsh replaces ``%h``, ``%u`` and ``%n`` by the host, the user and the number of the worker, and ``%%`` by
    one ``%``, in whatever it sends.
    """

    name: str
    since: Version
    sent: Callable[[str], str]
    by_pdsh: bool = True


def deepspeed_version(image: object) -> Version | None:
    """The version of DeepSpeed that the tag of a DeepSpeed image tells; None where it tells none."""
    if not isinstance(image, str):
        return None
    path, _, tag = image.partition("@")[0].rpartition(":")
    if "deepspeed" not in path.lower():
        return None
    dotted = set(_DOTTED.findall(tag))
    if len(dotted) == 1:
        return tuple(map(int, dotted.pop().split(".")))
    packed = _PACKED.search(tag)
    return (0, int(packed[1]), int(packed[2])) if packed and not dotted else None


def _in_single_quotes(word: str) -> str:
    return word if word.startswith("-") else f"'{word}'"


def _in_double_quotes(word: str) -> str:
    return '"{}"'.format(word.replace('"', '\\"')) if " " in word else word


def _after(first: Callable[[str], str]) -> Callable[[str], str]:
    """A pass of shlex over the words, and then single quotes. Raises ValueError where shlex does."""
    return lambda word: " ".join(map(_in_single_quotes, shlex.split(first(word))))


def _around(quote: str) -> Callable[[str], str]:
    return lambda word: word if word.startswith("-") else f"{quote}{word}{quote}"


DEEPSPEED: tuple[Regime, ...] = (
    Regime("DeepSpeed up to 0.10.0", (0, 0, 0), _in_single_quotes),
    Regime("DeepSpeed 0.10.1 and 0.10.2", (0, 10, 1), _after(str)),
    Regime("DeepSpeed 0.10.3 to 0.12.3", (0, 10, 3), _after(_around("'"))),
    Regime("DeepSpeed 0.12.4", (0, 12, 4), _after(_around('"'))),
    Regime("DeepSpeed since 0.12.5", (0, 12, 5), _in_double_quotes),
)
# The script itself is sent as it is by both launchers, in every version.
SCRIPT = Regime("the script is sent without quotes", (0, 0, 0), str)
COLOSSALAI = Regime("colossalai run", (0, 0, 0), str, by_pdsh=False)


def regimes_of(version: Version | None) -> tuple[Regime, ...]:
    """The regime of a version; all of them where it is not known."""
    if version is None:
        return DEEPSPEED
    return ([regime for regime in DEEPSPEED if regime.since <= version][-1],)


def arrives(word: str, regime: Regime) -> Arrival:
    """What the program on a worker gets for ``word``, where another word follows it."""
    try:
        sent = regime.sent(word)
    except ValueError:
        return Arrival(fault="a quote is never closed")
    if regime.by_pdsh:
        parts = sent.split("%%")
        of_pdsh = next(filter(None, map(_OF_PDSH.search, parts)), None)
        if of_pdsh:
            return Arrival(replaced=of_pdsh[0])
        sent = "%".join(parts)
    got = arrival(f"{sent} {NEXT}")
    if got.fault or got.ends or got.replaced:
        return got
    if got.words[-1:] != (NEXT,):
        return Arrival(got.words, swallows=True)
    return Arrival(got.words[:-1])


def is_plain(word: str) -> bool:
    """Whether a word is the same to every shell, however it is sent."""
    return _PLAIN.fullmatch(word) is not None


@lru_cache(maxsize=512)
def survives(word: str, regime: Regime) -> bool:
    """Whether a worker gets a word as it is, or as it was quoted by hand."""
    if is_plain(word):
        return True
    got = arrives(word, regime)
    if got == Arrival((word,)):
        return True
    if regime.by_pdsh:
        word = _DOUBLED.sub("%", word)
    one = len(got.words) == 1 and got == Arrival(got.words)
    return one and (got.words[0] == word or _by_hand(word, got.words[0]))


def _by_hand(word: str, got: str) -> bool:
    """Whether somebody has quoted the whole, or the whole value of an option, for the shell of the worker."""
    start = len(word) - len(word.lstrip("-"))
    option, equals, value = word.partition("=") if start else ("", "", word)
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return quoted and got == f"{option}{equals}{value[1:-1]}"


def spelling(
    written: str, regimes: tuple[Regime, ...], expanded: Callable[[str], str] = lambda word: word
) -> str:
    """How to write a word so that the workers get it under all of ``regimes``; "" for no simple way.

    ``expanded`` is what becomes of a word before it is sent.
    """
    option, equals, value = written.partition("=") if written.startswith("-") else ("", "", written)
    wanted = Arrival((expanded(written),))
    doubled = written.replace("%", "%%")
    for candidate in (doubled, shlex.quote(written), f"{option}{equals}{shlex.quote(value)}"):
        if all(arrives(expanded(candidate), regime) == wanted for regime in regimes):
            return candidate
    return ""
