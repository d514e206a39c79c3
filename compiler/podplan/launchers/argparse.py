"""Parses command lines of launchers as Python's argparse does.

https://docs.python.org/3/library/argparse.html, and the answers of the real parsers in fixtures/launchers/.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.launchers.arguments import CommandLine, OptionGrammar, OptionSpec, ParsedOption, is_valid_value
from podplan.launchers.words import CommandLineError, Word

_NEGATIVE_NUMBER = compile_lazily(r"-\d+\Z|-\d*\.\d+\Z")

# Measured with 3.10 to 3.13.0: argparse rejects ambiguous options even after the script.
_INFORMATIVE = frozenset(("help", "version"))  # they end the program
OLD_PYTHON_CONDITION = "Python up to 3.13.0"


def parse_command_line(grammar: OptionGrammar, words: Sequence[Word], launcher_word: Word) -> CommandLine:
    """Parse the command line of a launcher after its name; ``launcher_word`` is the word that names it."""
    return _CommandLineParser(grammar, words, launcher_word).parse_line()


@cache
def index_spellings(grammar: OptionGrammar) -> dict[str, OptionSpec]:
    """Return the options of a launcher by each of their spellings."""
    help_option = OptionSpec(("--help", "-h"), "flag")
    return {spelling: known for known in (*grammar.options, help_option) for spelling in known.spellings}


class _ParseStopped(Exception):
    """Raised where the real parser would stop with an error."""


class _CommandLineParser:
    """One pass over the words; it ends at the script, or where argparse stops."""

    def __init__(self, grammar: OptionGrammar, words: Sequence[Word], launcher_word: Word) -> None:
        self.grammar = grammar
        self.words = words
        self.launcher_word = launcher_word
        self.spellings = index_spellings(grammar)
        self.options: dict[str, ParsedOption] = {}
        self.errors: list[CommandLineError] = []
        self.script: Word | None = None
        self.arguments: tuple[Word, ...] = ()
        self.is_certain = True

    def parse_line(self) -> CommandLine:
        with suppress(_ParseStopped):
            self._parse_words()
        errors = tuple(self.errors) if self.is_certain else ()
        return CommandLine(self.options, self.script, self.arguments, errors, self.is_certain)

    def _parse_words(self) -> None:
        index = 0
        unknown_words: list[Word] = []
        while index < len(self.words):
            word = self.words[index]
            if not word.is_known and word.may_split and not word.text.startswith("-"):
                self.is_certain = False
                index += 1
                continue
            option = self._classify_word(word)
            if option is None:
                break
            if option.spec is None:
                unknown_words.append(word)
                index += 1
            else:
                index = self._parse_option(option, index)
        self._parse_positional(index)
        script_hint = ", and no script precedes it" if unknown_words and not self._looks_like_script() else ""
        for word in unknown_words:
            spelling = word.text.partition("=")[0]
            self._add_error(word, f'{self.grammar.launcher} has no option "{spelling}"{script_hint}')
        if self.script is None and _INFORMATIVE.isdisjoint(self.options) and not unknown_words:
            self._add_error(self.launcher_word, f"{self.grammar.launcher} needs a script to run")

    def _looks_like_script(self) -> bool:
        """Whether the word in the position of the script looks like a script, and not like the value of an
        option."""
        if self.script is None:
            return False
        name = self.script.base_name
        return (
            not self.script.is_known or name.endswith(".py") or ("." not in name and not name[:1].isdigit())
        )

    def _parse_positional(self, index: int) -> None:
        """Parse the script and everything after it; argparse drops a ``--`` on either side of the script."""
        rest = list(self.words[index:])
        if rest and rest[0].text == "--":
            rest.pop(0)
        elif len(rest) > 1 and rest[1].text == "--":
            rest.pop(1)
        if rest:
            self.script, self.arguments = rest[0], tuple(rest[1:])
        separator = next(
            (i for i, word in enumerate(self.words[index:]) if word.text == "--"), len(self.words)
        )
        for word in self.words[index : index + separator]:
            if word.is_known and word is not self.script and len(self._find_candidates(word)) > 1:
                self._add_ambiguity(word, OLD_PYTHON_CONDITION)

    def _classify_word(self, word: Word) -> _OptionMatch | None:
        """Classify a word as argparse does: an option, an unknown one, or None for a positional."""
        text = word.text
        if len(text) < 2 or text[0] != "-" or text == "--":
            return None
        if text in self.spellings:
            return _OptionMatch(self.spellings[text], text, None)
        spelling, equals, value = text.partition("=")
        if equals and spelling in self.spellings:
            return _OptionMatch(self.spellings[spelling], spelling, value)
        candidates = self._find_candidates(word)
        if len(candidates) > 1:
            self._add_ambiguity(word)
            raise _ParseStopped
        if candidates:
            return candidates[0]
        if _NEGATIVE_NUMBER.match(text) or " " in text:
            return None
        return _OptionMatch(None, text, None)

    def _find_candidates(self, word: Word) -> list[_OptionMatch]:
        """Return the options that a word may abbreviate; only one if it is written in full."""
        text = word.text
        if len(text) < 2 or text[0] != "-" or text == "--" or text in self.spellings:
            return []
        spelling, equals, value = text.partition("=")
        explicit = value if equals else None
        if equals and spelling in self.spellings:
            return []
        if text.startswith("--"):
            if not self.grammar.allows_abbreviation:
                return []
            return [_OptionMatch(k, s, explicit) for s, k in self.spellings.items() if s.startswith(spelling)]
        candidates = []
        for name, spec in self.spellings.items():
            if name == text[:2]:
                candidates.append(_OptionMatch(spec, name, text[2:]))
            elif name.startswith(text):
                candidates.append(_OptionMatch(spec, name, None))
        return candidates

    def _parse_option(self, option: _OptionMatch, index: int) -> int:
        """Parse an option with its value; return the index of the word after it."""
        spec, flag = option.spec, self.words[index]
        assert spec is not None
        if spec.kind == "flag":
            return self._parse_flag(option, index)
        if spec.value_count > 1:
            return self._parse_values(option, index)
        if option.explicit_value is not None:
            word, value = flag, option.explicit_value
        elif index + 1 < len(self.words) and self._is_option_value(self.words[index + 1]):
            index += 1
            word = self.words[index]
            value = word.text
        else:
            self._add_error(flag, f"{option.spelling} needs a value")
            raise _ParseStopped
        self.options[spec.name] = ParsedOption(
            spec.name, value if word.is_known else None, word, flag, word.is_known
        )
        if word.is_known:
            self._validate_value(spec, option.spelling, value, word)
        return index + 1

    def _parse_values(self, option: _OptionMatch, index: int) -> int:
        """Parse an option with several values; the last one stands for all."""
        spec, flag = option.spec, self.words[index]
        assert spec is not None
        end = index + 1 + spec.value_count
        values = self.words[index + 1 : end]
        is_complete = len(values) == spec.value_count and all(map(self._is_option_value, values))
        if not is_complete or option.explicit_value is not None:
            self._add_error(flag, f"{option.spelling} needs {spec.value_count} values")
            raise _ParseStopped
        self.options[spec.name] = ParsedOption(spec.name, None, values[-1], flag, is_known=False)
        for word in values:
            if word.is_known:
                self._validate_value(spec, option.spelling, word.text, word)
        return end

    def _parse_flag(self, option: _OptionMatch, index: int) -> int:
        """Parse a flag; short ones may be combined, ``-mq``."""
        flag, explicit = self.words[index], option.explicit_value
        while option.spec is not None and option.spec.kind == "flag":
            self.options[option.spec.name] = ParsedOption(option.spec.name, None, flag, flag)
            if explicit is None:
                if option.spec.name in _INFORMATIVE:
                    raise _ParseStopped
                return index + 1
            short = f"-{explicit[:1]}"
            if option.spelling.startswith("--") or short not in self.spellings or not explicit:
                self._add_error(flag, f'{option.spelling} takes no value, but has "{explicit}"')
                raise _ParseStopped
            option = _OptionMatch(self.spellings[short], short, explicit[1:] or None)
            explicit = option.explicit_value
        return self._parse_option(option, index)

    def _is_option_value(self, word: Word) -> bool:
        if not word.is_known and not word.text.startswith("-"):
            return True
        return word.text != "--" and self._classify_word(word) is None

    def _validate_value(self, spec: OptionSpec, spelling: str, value: str, word: Word) -> None:
        """Validate the type and the choices of a value."""
        if not is_valid_value(spec.kind, value):
            number_prefix = "whole " if spec.kind == "int" else ""
            self._add_error(word, f'{spelling} must be a {number_prefix}number, not "{value}"')
        elif spec.choices and value not in spec.choices:
            self._add_error(word, f'{spelling} must be one of {", ".join(spec.choices)}, not "{value}"')

    def _add_ambiguity(self, word: Word, condition: str = "") -> None:
        candidates = self._find_candidates(word)
        spellings = list(dict.fromkeys(found.spec.spellings[0] for found in candidates if found.spec))
        if len(spellings) == 1:
            spellings = [found.spelling for found in candidates]
        abbreviation = word.text.partition("=")[0]
        self._add_error(
            word, f'"{abbreviation}" is an ambiguous abbreviation of {" or ".join(spellings)}', condition
        )

    def _add_error(self, word: Word, message: str, condition: str = "") -> None:
        self.errors.append(CommandLineError(word, message, condition))


class _OptionMatch(NamedTuple):
    spec: OptionSpec | None
    spelling: str
    explicit_value: str | None
