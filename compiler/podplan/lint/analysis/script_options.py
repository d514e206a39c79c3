"""The options of training scripts, parsed without a grammar: ``--a b``, ``--a=b`` and ``a=b``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import NamedTuple
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.target import LoweredJob, cache_recent

_OPTION = compile_lazily(r"-{1,2}([A-Za-z][\w.-]*)(?:=(.*))?")
_HYDRA = compile_lazily(r"\+{0,2}([A-Za-z][\w.]*)=(.*)")
_TRUE = frozenset(("true", "1", "yes", "y", "t", "on"))
_FALSE = frozenset(("false", "0", "no", "n", "f", "off", "none", "null", "never"))
LONGEST = 200  # characters of an option that is looked at


class ScriptOption(NamedTuple):
    """An option: its name as written, ``key`` in lower case with underscores, its value, and its word.

    ``value`` is None for an option without one, and for a value that is not known.
    """

    name: str
    key: str
    value: str | None
    word: Word
    known: bool = True

    @property
    def last(self) -> str:
        """The part of the key after the last dot: max_time of trainer.max_time."""
        return self.key.rpartition(".")[2]

    @property
    def is_on(self) -> bool:
        """Whether a switch is on: it is given alone, or with a true value."""
        return self.known and (self.value is None or self.value.lower() in _TRUE)

    @property
    def is_off(self) -> bool:
        """Whether a switch is off: it is given with a false value."""
        return self.value is not None and self.value.lower() in _FALSE

    @property
    def number(self) -> int | None:
        """The value as a whole number above 0."""
        is_number = self.value is not None and self.value.isdecimal() and len(self.value) < 10
        return (int(self.value or 0) or None) if is_number else None


class PlacedOption(NamedTuple):
    """An option with its document and its path there."""

    option: ScriptOption
    doc: TracedDocument
    path: Path


def list_program_options(job: LoweredJob, launch: ContainerLaunch) -> Iterator[PlacedOption]:
    """Return the options of a program and its script; those of a DeepSpeedJob at their place in the CR."""
    line = find_deepspeed_line(job)
    if (
        line is not None
        and not line.is_custom
        and job.cr is not None
        and launch.invocation.launcher == "deepspeed"
    ):
        yield from (
            PlacedOption(one, job.cr, line.locate_word(one.word)) for one in iter_given_options(line.words)
        )
        return
    yield from _place_options(launch)


@cache_recent
def _place_options(launch: ContainerLaunch) -> list[PlacedOption]:
    options = iter_given_options(launch.invocation.words)
    return [PlacedOption(one, launch.group.doc, launch.locate_word(one.word)) for one in options]


def iter_given_options(words: Sequence[Word]) -> Iterator[ScriptOption]:
    """Yield the options among words, in order."""
    for at, word in enumerate(words):
        if len(word.text) > LONGEST:
            continue
        found = _OPTION.fullmatch(word.text) or _HYDRA.fullmatch(word.text)
        if found is None:
            continue
        name, value, place, known = found[1], found[2], word, word.is_known
        if value is None and at + 1 < len(words) and not words[at + 1].text.startswith("-"):
            place = words[at + 1]
            value, known = place.text, place.is_known
        written = word.text.partition("=")[0]
        yield ScriptOption(written, name.lower().replace("-", "_"), value if known else None, place, known)
