"""Parses mpirun and mpiexec of Open MPI 4.1 and 5.0, Intel MPI and MPICH.

Source: docs/evidence/mpirun.md#options. The implementations differ in their options (mpirun_options.py), so a
line is parsed as by each one that the container may have. The first that accepts it counts; if none does, the
errors are those of the first.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.lazy_regex import compile_lazily
from podplan.launchers.arguments import CommandLine, ParsedOption, parse_integer
from podplan.launchers.commands import MpirunCommand
from podplan.launchers.mpirun_options import (
    GRAMMARS,
    INTEL_MPI,
    MPICH,
    OPEN_MPI_4,
    OPEN_MPI_5,
    MpirunGrammar,
)
from podplan.launchers.words import CommandLineError, EnvVariables, Word

_SEPARATOR = ":"  # between the programs that one line starts together
_OPEN_MPI_IMAGE = compile_lazily(r"(?:open-?mpi|ompi)[-_:/]?v?(\d+)(?:\.\d+)*")
_GRAMMARS_BY_PROGRAM = {
    "orterun": (OPEN_MPI_4,),
    "mpirun.openmpi": (OPEN_MPI_4, OPEN_MPI_5),
    "mpiexec.openmpi": (OPEN_MPI_4, OPEN_MPI_5),
    "mpiexec.hydra": (INTEL_MPI, MPICH),
    "mpirun.mpich": (MPICH,),
    "mpiexec.mpich": (MPICH,),
}
_INFORMATIVE = frozenset(("help", "version", "info"))


def parse_mpirun(
    words: tuple[Word, ...], launcher_word: Word, variables: EnvVariables, image: str = ""
) -> MpirunCommand:
    """Parse an mpirun command line after the name of the program; ``variables`` are those of its
    environment."""
    grammars = select_grammars(launcher_word, image)
    parsers = [parse_line(grammar, words, launcher_word) for grammar in grammars]
    accepting = sorted(
        (parser for parser in parsers if not parser.errors), key=lambda parser: len(parser.misread_values)
    )
    parser = (accepting or parsers)[0]
    errors = (*parser.errors, *parser.misread_values) if parser.is_certain else ()
    if parser.errors and len(grammars) == len(GRAMMARS):
        errors = tuple(_find_common_error(error, parsers) for error in errors)
    program_words = parser.program_words if parser.is_certain else ()
    command_line = CommandLine(
        parser.options,
        program_words[0] if program_words else None,
        program_words[1:],
        errors,
        parser.is_certain,
    )
    options = parser.options
    return MpirunCommand(
        command_line,
        parser.count_processes(),
        _get_number(options, "per_node"),
        _get_text(options, "hostfile"),
        tuple((options["host"].value or "").split(",")) if "host" in options else (),
        tuple(parser.exported_variables),
        parser.mca_parameters,
        "allow_run_as_root" in options or variables.get("OMPI_ALLOW_RUN_AS_ROOT") == "1",
        program_words,
        errors,
        tuple(each.grammar.name for each in accepting) if parser.is_certain else (),
        tuple(parser.repeated_options),
    )


def select_grammars(launcher_word: Word, image: str) -> tuple[MpirunGrammar, ...]:
    """Return the grammars that a container may have, by the name of the program and of the image."""
    if launcher_word.base_name in _GRAMMARS_BY_PROGRAM:
        return _GRAMMARS_BY_PROGRAM[launcher_word.base_name]
    releases = _OPEN_MPI_IMAGE.findall(image.lower())
    if releases and int(releases[-1]) >= 4:
        return (OPEN_MPI_4,) if int(releases[-1]) == 4 else (OPEN_MPI_5,)
    return GRAMMARS


def is_known_option(spelling: str) -> bool:
    """Whether any implementation has an option of this spelling, with one dash or two."""
    return spelling.startswith("-") and any(spelling.lstrip("-") in grammar.options for grammar in GRAMMARS)


def needs_two_dashes(word: Word) -> bool:
    """Whether a word is an option with one dash that Open MPI 5 accepts only with two dashes."""
    option = word.text.partition("=")[0]
    return option[:2] != "--" and option[1:] in OPEN_MPI_5.only_double_dash


def _find_common_error(error: CommandLineError, parsers: list[LineParser]) -> CommandLineError:
    """Return the error of a line that no implementation accepts, which may lack the option in all."""
    unknown = [any(each.word is error.word for each in parser.unknown_options) for parser in parsers]
    if not all(unknown):
        return error
    return error._replace(
        message=f'neither Open MPI nor Intel MPI nor MPICH has the option "{error.word.text}"'
    )


def parse_line(grammar: MpirunGrammar, words: tuple[Word, ...], launcher_word: Word) -> LineParser:
    parser = LineParser(grammar, launcher_word)
    parser.parse(words)
    return parser


class LineParser:
    """The state of parsing one line as one implementation does."""

    def __init__(self, grammar: MpirunGrammar, launcher_word: Word) -> None:
        self.grammar = grammar
        self.launcher_word = launcher_word
        self.options: dict[str, ParsedOption] = {}
        self.exported_variables: list[str] = []
        self.mca_parameters: dict[str, str] = {}
        self.program_words: tuple[Word, ...] = ()
        self.process_counts: list[int | None] = []
        self.errors: list[CommandLineError] = []
        self.unknown_options: list[CommandLineError] = []
        self.misread_values: list[CommandLineError] = []
        self.repeated_options: list[ParsedOption] = []
        self.is_certain = True

    def parse(self, words: tuple[Word, ...]) -> None:
        """Parse all programs of a line."""
        for number, program in enumerate(_split_programs(words)):
            options: dict[str, ParsedOption] = {}
            program_words = self._parse_program(program, options)
            if not self.is_certain or self.errors:
                break
            if not _INFORMATIVE.isdisjoint(options):
                break
            is_last_empty = number > 0 and not program and self.grammar in (OPEN_MPI_4, OPEN_MPI_5)
            if not program_words and not is_last_empty:
                self._add_error(self.launcher_word, f"{self.launcher_word.base_name} needs a program to run")
            self.process_counts.append(_get_number(options, "np"))
            if number == 0:
                self.program_words = program_words
            self.options = {**options, **self.options}
        else:
            return
        self.options = {**options, **self.options}

    def count_processes(self) -> int | None:
        """Return the processes of all programs of a line."""
        if len(self.process_counts) < 2:
            count = _get_number(self.options, "np")
            return count if count is None or count > 0 else None
        counts = [count for count in self.process_counts if count is not None]
        return sum(counts) if len(counts) == len(self.process_counts) else None

    def _parse_program(self, words: tuple[Word, ...], options: dict[str, ParsedOption]) -> tuple[Word, ...]:
        """Parse the options before a program; return the program with its arguments."""
        index = 0
        while index < len(words) and words[index].text.startswith("-") and words[index].text != "-":
            flag = words[index]
            if not flag.is_known:
                self.is_certain = False
                return ()
            if flag.text == "--" and self.grammar in (OPEN_MPI_4, OPEN_MPI_5):
                return words[index + 1 :]
            found = self._find_option(flag)
            if found is None:
                self._add_unknown(flag)
                return ()
            name, value_count, explicit_value = found
            values = words[index + 1 : index + 1 + value_count]
            index += 1 + value_count
            if explicit_value is not None:
                values = (flag._replace(text=explicit_value), *values[: value_count - 1])
                index -= 1
            elif name == "export" and value_count == 2 and values and "=" in values[0].text:
                values, index = values[:1], index - 1  # -genv NAME=VALUE
            elif len(values) < value_count:
                self._add_error(flag, f"{flag.text} needs {_count_values(value_count)}")
                return ()
            self._add_option(options, name, flag, values)
        return words[index:]

    def _find_option(self, flag: Word) -> tuple[str, int, str | None] | None:
        """Return the name of an option, the number of its values, and the value after "="."""
        grammar = self.grammar
        spelling = flag.text[2:] if flag.text.startswith("--") else flag.text[1:]
        has_one_dash = not flag.text.startswith("--")
        explicit_value = None
        if grammar.takes_equals and "=" in spelling:
            spelling, _, explicit_value = spelling.partition("=")
        if not grammar.is_case_sensitive:
            spelling = next((each for each in grammar.options if each.lower() == spelling.lower()), spelling)
        if spelling in grammar.only_double_dash and (has_one_dash or explicit_value is not None):
            return None
        if grammar.joins_letters and has_one_dash and set(spelling) <= grammar.options.keys():
            return (*grammar.options[spelling[-1]], None)
        option = grammar.options.get(spelling)
        if option is None and grammar.abbreviates and len(spelling) > 1:
            candidates = [each for each in grammar.options if each.startswith(spelling)]
            option = grammar.options[candidates[0]] if len(candidates) == 1 else None
        if option is None or (explicit_value is not None and option[1] == 0):
            return None
        return (*option, explicit_value)

    def _add_option(
        self, options: dict[str, ParsedOption], name: str, flag: Word, values: tuple[Word, ...]
    ) -> None:
        last_word = values[-1] if values else flag
        is_known = all(word.is_known for word in values)
        value = last_word.text if values and is_known else None
        given = options.get(name)
        is_repeatable = name in ("export", "export_list", "mca") or not values
        if given is not None and not is_repeatable and self.grammar.refuses_repeated:
            self._add_error(flag, f"{flag.text} is given twice")
        option = ParsedOption(name, value, last_word, flag, is_known)
        if given is not None and not is_repeatable:
            self.repeated_options.append(option)
        if given is None or not self.grammar.keeps_first:
            options[name] = option
        if name == "export" and values[0].text.startswith("-") and values[0].is_known:
            self._add_error(flag, f"{flag.text} needs the name of a variable")
        if name == "export":
            self.exported_variables.append(values[0].text.partition("=")[0])
        elif name == "export_list":
            self.exported_variables += last_word.text.split(",")
        elif name == "mca" and len(values) == 2:
            self._add_mca_parameter(flag, values)
        elif value is not None:
            self._validate_value(name, flag, last_word, value)

    def _add_mca_parameter(self, flag: Word, values: tuple[Word, ...]) -> None:
        key, value = values
        if key.is_known and "=" in key.text:
            self._add_error(key, f'{flag.text} needs the name and the value in two words, not "{key.text}"')
        elif key.is_known and key.text in self.mca_parameters:
            message = f'{flag.text} gives "{key.text}" twice'
            if self.grammar is OPEN_MPI_4:
                self._add_error(key, message)
            else:
                self.misread_values.append(CommandLineError(key, message, "Open MPI 4.1"))
        self.mca_parameters[key.text] = value.text

    def _validate_value(self, name: str, flag: Word, word: Word, value: str) -> None:
        grammar = self.grammar
        choices = grammar.choices.get(name)
        kind = value.lower().partition(":")[0]
        if choices is not None and kind not in choices and (kind or name != "map_by"):
            self._add_error(word, f'{grammar.name} has no {flag.text} "{value}"')
        is_negative = name == "np" and value[:1] == "-" and grammar in (OPEN_MPI_4, OPEN_MPI_5)
        is_number = value.isdigit() or (value[:1] == "-" and value[1:].isdigit())
        if grammar is INTEL_MPI:
            is_number = _parse_leading(value) > 0
        if is_negative or (name in grammar.numbers and not is_number):
            self._add_error(word, f'{flag.text} must be a whole number, not "{value}"')
        elif name == "np" and not is_number:
            message = f'{flag.text} must be a whole number, not "{value}"'
            condition = f"{grammar.name} ignores it"
            self.misread_values.append(CommandLineError(word, message, condition))

    def _add_unknown(self, flag: Word) -> None:
        spelling = flag.text.lstrip("-")
        if spelling.partition("=")[0] in self.grammar.only_double_dash:
            message = f"{self.grammar.name} has no {flag.text}; use -{flag.text}"
        elif spelling.partition("=")[0] in self.grammar.options and "=" in spelling:
            message = f'{self.grammar.name} does not take "{flag.text}": the value is the next word'
        else:
            message = f'{self.grammar.name} has no option "{flag.text}"'
        self._add_error(flag, message)
        self.unknown_options.append(self.errors[-1])

    def _add_error(self, word: Word, message: str) -> None:
        self.errors.append(CommandLineError(word, message))


def _split_programs(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Yield the words of each program of a line."""
    start = 0
    for index, word in enumerate(words):
        if word.text == _SEPARATOR:
            yield words[start:index]
            start = index + 1
    yield words[start:]


def _parse_leading(text: str) -> int:
    """The number at the start of a text, as C's atoi reads it; 0 without one."""
    digits = len(text) - len(text.lstrip("0123456789"))
    return int(text[:digits]) if digits else 0


def _count_values(count: int) -> str:
    return "a value" if count == 1 else f"{count} values"


def _get_text(options: dict[str, ParsedOption], name: str) -> str | None:
    if name not in options:
        return None
    option = options[name]
    return option.text if option.value is None else option.value


def _get_number(options: dict[str, ParsedOption], name: str) -> int | None:
    value = options[name].value if name in options else None
    return None if value is None else parse_integer(value)
