"""Command lines of launchers as Python's argparse reads them.

https://docs.python.org/3/library/argparse.html, and the answers of the real parsers in fixtures/launchers/.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from podplan.core.lazy_regex import pattern
from podplan.core.typing import NamedTuple
from podplan.launchers.arguments import Grammar, Known, Line, Option, fits
from podplan.launchers.words import Fault, Word

_NEGATIVE_NUMBER = pattern(r"-\d+\Z|-\d*\.\d+\Z")

# Measured with 3.10 to 3.13.0: argparse refuses what it cannot tell apart even behind the script.
OLD_PYTHON = "Python up to 3.13.0"


def parse(grammar: Grammar, words: Sequence[Word], start: Word) -> Line:
    """The command line of a launcher after its own name; ``start`` is the word that names it."""
    return _Parsing(grammar, words, start).line()


@cache
def spellings(grammar: Grammar) -> dict[str, Known]:
    """The options of a launcher by each of their spellings."""
    help_ = Known(("--help", "-h"), "flag")
    return {spelling: known for known in (*grammar.options, help_) for spelling in known.spellings}


class _Refused(Exception):
    """The parser gives up at a word."""


class _Parsing:
    """One pass over the words; it ends at the script, or where argparse gives up."""

    def __init__(self, grammar: Grammar, words: Sequence[Word], start: Word) -> None:
        self.grammar = grammar
        self.words = words
        self.start = start
        self.spellings = spellings(grammar)
        self.found: dict[str, Option] = {}
        self.faults: list[Fault] = []
        self.script: Word | None = None
        self.arguments: tuple[Word, ...] = ()
        self.sure = True

    def line(self) -> Line:
        with suppress(_Refused):
            self._read()
        faults = tuple(self.faults) if self.sure else ()
        return Line(self.found, self.script, self.arguments, faults, self.sure)

    def _read(self) -> None:
        at = 0
        unknown: list[Word] = []
        while at < len(self.words):
            word = self.words[at]
            if not word.known and word.splits and not word.text.startswith("-"):
                self.sure = False
                at += 1
                continue
            option = self._option(word)
            if option is None:
                break
            if option.known is None:
                unknown.append(word)
                at += 1
            else:
                at = self._consume(option, at)
        self._positional(at)
        nothing_before = ", and no script stands before it" if unknown and not self._names_script() else ""
        for word in unknown:
            spelling = word.text.partition("=")[0]
            self._fault(word, f'{self.grammar.launcher} has no option "{spelling}"{nothing_before}')
        if self.script is None and "help" not in self.found and not unknown:
            self._fault(self.start, f"{self.grammar.launcher} needs a script to run")

    def _names_script(self) -> bool:
        """Whether the word in the place of the script looks like one, and not like the value of an option."""
        if self.script is None:
            return False
        name = self.script.name
        return not self.script.known or name.endswith(".py") or ("." not in name and not name[:1].isdigit())

    def _positional(self, at: int) -> None:
        """The script and everything behind it; argparse drops a ``--`` on either side of the script."""
        rest = list(self.words[at:])
        if rest and rest[0].text == "--":
            rest.pop(0)
        elif len(rest) > 1 and rest[1].text == "--":
            rest.pop(1)
        if rest:
            self.script, self.arguments = rest[0], tuple(rest[1:])
        dashes = next((i for i, word in enumerate(self.words[at:]) if word.text == "--"), len(self.words))
        for word in self.words[at : at + dashes]:
            if word.known and word is not self.script and len(self._candidates(word)) > 1:
                self._ambiguous(word, OLD_PYTHON)

    def _option(self, word: Word) -> _Found | None:
        """What argparse takes a word for: an option, an unknown one, or None for a positional."""
        text = word.text
        if len(text) < 2 or text[0] != "-" or text == "--":
            return None
        if text in self.spellings:
            return _Found(self.spellings[text], text, None)
        spelling, equals, value = text.partition("=")
        if equals and spelling in self.spellings:
            return _Found(self.spellings[spelling], spelling, value)
        candidates = self._candidates(word)
        if len(candidates) > 1:
            self._ambiguous(word)
            raise _Refused
        if candidates:
            return candidates[0]
        if _NEGATIVE_NUMBER.match(text) or " " in text:
            return None
        return _Found(None, text, None)

    def _candidates(self, word: Word) -> list[_Found]:
        """The options that a word may be short for; one where it is written in full."""
        text = word.text
        if len(text) < 2 or text[0] != "-" or text == "--" or text in self.spellings:
            return []
        spelling, equals, value = text.partition("=")
        explicit = value if equals else None
        if equals and spelling in self.spellings:
            return []
        if text.startswith("--"):
            if not self.grammar.abbreviated:
                return []
            return [_Found(k, s, explicit) for s, k in self.spellings.items() if s.startswith(spelling)]
        found = []
        for name, known in self.spellings.items():
            if name == text[:2]:
                found.append(_Found(known, name, text[2:]))
            elif name.startswith(text):
                found.append(_Found(known, name, None))
        return found

    def _consume(self, option: _Found, at: int) -> int:
        """Takes an option with its value; the index of the word after it."""
        known, flag = option.known, self.words[at]
        assert known is not None
        if known.kind == "flag":
            return self._flag(option, at)
        if option.explicit is not None:
            word, value = flag, option.explicit
        elif at + 1 < len(self.words) and self._is_value(self.words[at + 1]):
            at += 1
            word = self.words[at]
            value = word.text
        else:
            self._fault(flag, f"{option.spelling} needs a value")
            raise _Refused
        self.found[known.name] = Option(known.name, value if word.known else None, word, flag, word.known)
        if word.known:
            self._check(known, option.spelling, value, word)
        return at + 1

    def _flag(self, option: _Found, at: int) -> int:
        """Takes a flag; short ones may stand together, ``-mq``."""
        flag, explicit = self.words[at], option.explicit
        while option.known is not None and option.known.kind == "flag":
            self.found[option.known.name] = Option(option.known.name, None, flag, flag)
            if explicit is None:
                if option.known.name == "help":
                    raise _Refused
                return at + 1
            short = f"-{explicit[:1]}"
            if option.spelling.startswith("--") or short not in self.spellings or not explicit:
                self._fault(flag, f'{option.spelling} takes no value, so not "{explicit}"')
                raise _Refused
            option = _Found(self.spellings[short], short, explicit[1:] or None)
            explicit = option.explicit
        return self._consume(option, at)

    def _is_value(self, word: Word) -> bool:
        if not word.known and not word.text.startswith("-"):
            return True
        return word.text != "--" and self._option(word) is None

    def _check(self, known: Known, spelling: str, value: str, word: Word) -> None:
        """The type and the choices of a value."""
        if not fits(known.kind, value):
            whole = "whole " if known.kind == "int" else ""
            self._fault(word, f'{spelling} takes a {whole}number, not "{value}"')
        elif known.choices and value not in known.choices:
            self._fault(word, f'{spelling} takes {", ".join(known.choices)}; not "{value}"')

    def _ambiguous(self, word: Word, only: str = "") -> None:
        candidates = self._candidates(word)
        spellings = list(dict.fromkeys(found.known.spellings[0] for found in candidates if found.known))
        if len(spellings) == 1:
            spellings = [found.spelling for found in candidates]
        short = word.text.partition("=")[0]
        self._fault(word, f'"{short}" may be short for {" or ".join(spellings)}', only)

    def _fault(self, word: Word, sentence: str, only: str = "") -> None:
        self.faults.append(Fault(word, sentence, only))


class _Found(NamedTuple):
    known: Known | None
    spelling: str
    explicit: str | None
