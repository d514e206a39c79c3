"""Shell syntax in command and args that no shell parses, and errors in scripts that a shell parses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers import exec_form
from podplan.launchers.exec_form import ExecCommand
from podplan.launchers.words import Word
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.jobs import has_trait, spec_of
from podplan.lint.analysis.mpirun_fields import PROGRAM_FIELDS
from podplan.lint.analysis.over_ssh import starts_over_ssh
from podplan.lint.checks.launcher_words import find_reported_places
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operators, and the subset that may also be the value of an option, such as a separator.
_SHELL_OPERATORS = _split_words("&& || |& 2>&1 1>&2 >&2 &> &>> 2> 2>> 1> 1>> >> << <<< ;;")
_AMBIGUOUS_OPERATORS = _split_words("| ; > < &")
_REDIRECTION_PATTERN = compile_lazily(r"(?:[0-2]|&)>>?(?:&[0-2]|[^\s=>&][^>]*)|>>?[/.~][^\s>]*")
_COMMON_COMMANDS = _split_words(
    """
    bash cat cp curl echo env exec export grep head less ls mkdir mv nohup pip python python3 rm sed sh
    sleep sort source tail tee timeout torchrun touch true wget
    """
)
_BACKTICK_SUBSTITUTION = compile_lazily(r"(?:-{1,2}[\w.-]+=)?(`[^`]+`)")
_COMMAND_SUBSTITUTION = compile_lazily(r"\$\((?!\()[^()\s]+\s[^()]*\)")
_SHELL_VARIABLE = compile_lazily(
    r"\$\$?(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?P<default>:?[-=?+][^{}]*)?\})"
)
_CONSTANT_NAME = compile_lazily(r"[A-Z_][A-Z0-9_]+")
_ALL_ARGUMENTS = frozenset(("$@", "$*", '"$@"', '"$*"', "${@}"))
_HOME_PATH = compile_lazily(r"(?:-{1,2}[\w.-]+=)?~/.*", re.DOTALL)
_FILE_COMMANDS = _split_words("cat chmod chown cp du gzip head ln ls mkdir mv rm rmdir tail tar touch wc")
_GLOB_PATTERN = compile_lazily(r"\*|\[[^\[\]]+\]|\{[^{}]*(?:,|\.\.)[^{}]*\}")
_SCRIPT_AND_ARGUMENTS = compile_lazily(r"\S+\.(?:py|sh|bash)\s+\S.*", re.DOTALL)
_PROGRAM_AND_ARGUMENTS = compile_lazily(
    r"(?:\S*/)?(?:python[0-9.]*|torchrun|accelerate|deepspeed|bash|sh)\s+\S.*", re.DOTALL
)
_OPTION_AND_VALUE = compile_lazily(r"--[A-Za-z][\w.-]*\s+\S.*", re.DOTALL)
_TWO_OPTIONS = compile_lazily(r"--[A-Za-z][\w.-]*=\S*\s+--[A-Za-z].*", re.DOTALL)
_TAKE_PATTERNS = frozenset(("pgrep", "pkill", "grep", "egrep"))  # of which blanks are a part
_SUBCOMMAND = compile_lazily(r"(?:launch|run)\s+\S.*", re.DOTALL)
_WITH_SUBCOMMANDS = _split_words("accelerate colossalai conda mamba micromamba uv poetry pipenv pdm pixi")
_SHORT_AND_VALUE = compile_lazily(r"-[A-Za-z]*[cm]\s+\S.*", re.DOTALL)
_INTERPRETER_COMMAND = compile_lazily(r"(?:\S*/)?(?:python[0-9.]*|(?:ba|da|k|z|a)?sh)")
_SHELL_COMMAND = compile_lazily(r"(?:\S*/)?(?:ba|da|k|z|a)?sh")
_COMMAND_LINE_OPTION = compile_lazily(
    r"-.*(?:arg|opt|flag|param|cmd|command|extra|env|run|exec).*", re.IGNORECASE
)
_FLAGS_WITHOUT_VALUE = frozenset(
    ("--", "--standalone", "--no-python", "--no_python", "--module", "--allow-run-as-root")
)
_POSITIONAL_PARAMETER = compile_lazily(
    r"\$(?:[0-9@*#]|\{[#!]?[0-9@*])|\b(?:shift|getopts|eval|BASH_ARGV|BASH_ARGC)\b|\bset\s+--"
)
_SHELL_BUILTINS = _split_words(
    """
    . : alias bind builtin cd declare dirs disown eval exec export let local logout mapfile popd pushd
    read readarray readonly return set shift shopt source trap typeset ulimit umask unalias unset wait
    """
)
_SHELL_KEYWORDS = _split_words(
    "if then else elif fi for while until do done case esac select function { } ( ) [[ !"
)
_ASSIGNMENT = compile_lazily(r"[A-Za-z_]\w*=.*", re.DOTALL)
_QUOTED_WORD = compile_lazily(r"(?:-{1,2}[\w.-]+=)?(['\"]).+\1", re.DOTALL)
# A comment after a continued line, and the line below it.
_COMMENTED = compile_lazily(r"\\\n[ \t]*#")
_CONTINUED = compile_lazily(r"\n(?:[ \t]*#[^\n]*\n)*([ \t]+)([^\s#]\S*)")
_BLANKS = compile_lazily(r"[ \t]*")
_MAX_COMMENTS = 100  # longest part of a script that is checked, in characters
_CONTINUATION = compile_lazily(r"\n[ \t]*-|\\[ \t]")


_KUBERNETES = "Kubernetes"


class ExecutedLine(NamedTuple):
    """A line that a container executes. With ``doc`` its paths are those of that document, the CR.

    ``starter`` starts the program that its first word is; "" for a line of arguments.
    """

    line: ExecCommand
    doc: TracedDocument | None = None
    starter: str = _KUBERNETES

    def build_violation(self, index: int, **values: Any) -> Violation:
        return Violation(self.line.paths[index], values, doc=self.doc)


def find_executed_lines(target: Target) -> list[ExecutedLine]:
    """Return the lines that a container runs, and the CR's words that its controller quotes for a shell."""
    job, group = target.job, target.group
    lines = _parse_lines(target.data)
    if _is_joined_for_shell(target):
        lines = [line for line in lines if line.paths[0][0] not in ("command", "args")]
    executed_lines = [ExecutedLine(line) for line in lines]
    if group is not None and has_trait(job, "mpirun-by-controller") and group.replica_type == "launcher":
        if target.base_path[-1] == (group.training_container_index or 0):
            executed_lines += [ExecutedLine(line, job.cr, "mpirun") for line in _iter_mpirun_lines(job)]
        return executed_lines
    if group is None or not has_trait(job, "deepspeed-by-controller") or starts_over_ssh(job):
        return executed_lines
    from podplan.lint.analysis.deepspeed_line import find_deepspeed_line

    deepspeed_line = find_deepspeed_line(job)
    if (
        deepspeed_line is not None
        and not deepspeed_line.is_custom
        and target.base_path[-1] == (group.training_container_index or 0)
    ):
        executed_lines += [ExecutedLine(line, job.cr, "") for line in _iter_deepspeed_lines(job)]
    return executed_lines


def _is_joined_for_shell(target: Target) -> bool:
    """Whether the controller joins command and args of a container into a text for a shell."""
    group = target.group
    return (
        group is not None
        and has_trait(target.job, "command-in-shell")
        and target.base_path == ("spec", "containers", group.training_container_index or 0)
    )


@cache_latest
def _parse_lines(container: Mapping[str, Any]) -> list[ExecCommand]:
    return exec_form.list_exec_commands(container)


def _iter_deepspeed_lines(job: LoweredJob) -> Iterator[ExecCommand]:
    """Yield the program and arguments that deepspeed runs, at their paths in the CR."""
    run = get_mapping(get_mapping(spec_of(job), "config"), "run")
    for form in run:
        words = get_texts(run, form)
        if words:
            paths = tuple(("spec", "config", "run", form, at) for at, _ in words)
            yield ExecCommand(tuple(word for _, word in words), paths)


def _iter_mpirun_lines(job: LoweredJob) -> Iterator[ExecCommand]:
    """Yield the program and arguments that mpirun runs, at their paths in the CR."""
    for path in PROGRAM_FIELDS:
        words = get_texts(get_mapping(spec_of(job), path[1]), path[2])
        if words:
            yield ExecCommand(tuple(word for _, word in words), tuple((*path, at) for at, _ in words))


@check()
def shell_syntax_without_shell(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Operators of a shell among the words of a line; values ``operator`` and ``program``."""
    for executed_line in find_executed_lines(target):
        line = executed_line.line
        for index in exec_form.iter_literal_words(line):
            if index and (operator := _find_operator(line.texts, index)):
                yield executed_line.build_violation(
                    index, operator=operator, program=exec_form.describe_program(line)
                )
                break


def _find_operator(words: Sequence[str], index: int) -> str:
    """Return the shell operator that a word is or ends with; "" if it may be an argument."""
    text = words[index]
    previous_word, next_word = words[index - 1], words[index + 1] if index + 1 < len(words) else ""
    if text in _SHELL_OPERATORS:
        return text
    starts_command = next_word.rpartition("/")[2] in _COMMON_COMMANDS or (
        next_word != "" and next_word == words[0]
    )
    if text not in _AMBIGUOUS_OPERATORS and text.endswith(";"):
        return ";" if starts_command and text != "\\;" else ""
    if _takes_value(previous_word) and not starts_command:
        return ""
    if text in ("<", ">"):
        return text if "/" in next_word or "." in next_word else ""
    if text in _AMBIGUOUS_OPERATORS:
        return text if next_word or text == "&" else ""
    return text if ">" in text and _REDIRECTION_PATTERN.fullmatch(text) else ""


def _takes_value(text: str) -> bool:
    """Whether the next word may be the value of this one."""
    return text.startswith("-") and "=" not in text and text not in _FLAGS_WITHOUT_VALUE


@check()
def shell_expansion_without_shell(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An expansion in a word that no shell parses; values ``what`` and ``instead``."""
    declared_names = {get_text(entry, "name") for _, entry in get_entries(target.data, "env")}
    for executed_line in find_executed_lines(target):
        line = executed_line.line
        if not line.has_program and len(line.texts) == 1:
            continue  # the entrypoint of the image may be a shell
        for index in exec_form.iter_literal_words(line):
            word = line.texts[index]
            if expansion := _find_expansion(word, index, line, declared_names):
                what, name = expansion
                if target.job.gitops_tool == "flux" and what.startswith("${"):
                    continue  # Flux replaces it before the CR is applied
                instead = f"; Kubernetes replaces $({name})" if name in declared_names else ""
                violation = executed_line.build_violation(index, what=what, instead=instead)
                replacement = _replace_with_references(word, declared_names)
                base = target.base_path if executed_line.doc is None else ()
                yield violation._replace(
                    change=("set", (*base, *violation.path), replacement) if replacement else None
                )


def _find_expansion(
    word: str, index: int, line: ExecCommand, declared_names: set[str]
) -> tuple[str, str] | None:
    """Return the first shell expansion in a word, and the name if it is a variable."""
    for match in _SHELL_VARIABLE.finditer(word) if "$" in word else ():
        name = match["plain"] or match["braced"] or ""
        if name and (name in declared_names or _CONSTANT_NAME.fullmatch(name)):
            return match[0], name
    if word in _ALL_ARGUMENTS:
        return word, ""
    if "`" in word and (ticks := _BACKTICK_SUBSTITUTION.fullmatch(word)):
        return f"`{_shorten_command(ticks[1].strip('`'))}`", ""
    if "~/" in word and _HOME_PATH.fullmatch(word):
        return "~", ""
    if "$(" in word and (substitution := _COMMAND_SUBSTITUTION.search(word)):
        return f"$({_shorten_command(substitution[0][2:-1])})", ""
    is_file_argument = (
        index and exec_form.describe_program(line) in _FILE_COMMANDS and not word.startswith("-")
    )
    return (word, "") if is_file_argument and _GLOB_PATTERN.search(word) else None


def _shorten_command(command: str) -> str:
    """Return a command without its arguments, which may be secrets."""
    first, *arguments = command.split(None, 1) or [""]
    return f"{first} …" if arguments else first


def _replace_with_references(word: str, declared_names: set[str]) -> str:
    """Return the word with ``$(NAME)`` for each variable; "" if other expansions remain."""

    def build_reference(match: re.Match[str]) -> str:
        name = match["plain"] or match["braced"]
        return f"$({name})" if name in declared_names and not match["default"] else match[0]

    replaced = _SHELL_VARIABLE.sub(build_reference, word)
    unreplaced = re.search(r"\$[A-Za-z_{@*]|`", replaced) or _COMMAND_SUBSTITUTION.search(replaced)
    return "" if replaced == word or unreplaced else replaced


@check()
def command_line_in_one_word(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several words of a command line in one; values ``begins`` and ``why``."""
    reported_places = find_reported_places(target.job) if target.job.cr is not None else frozenset()
    for executed_line in find_executed_lines(target):
        line = executed_line.line
        program_index = exec_form.find_program_word(line) if executed_line.starter else None
        options_end = _find_options_end(line.texts)
        for index in exec_form.iter_literal_words(line):
            if index == program_index and executed_line.starter != _KUBERNETES:
                continue  # reported by options-in-one-word
            reason = _explain_several_words(line, index, program_index, options_end)
            if (
                reason
                and (id(executed_line.doc or target.doc), _get_path_from_root(executed_line, target, index))
                not in reported_places
            ):
                yield executed_line.build_violation(
                    index, begins=f"{line.texts[index].split()[0]} …", why=reason
                )
            if reason and index == program_index:
                break  # the next words are meant to be its input


def _get_path_from_root(executed_line: ExecutedLine, target: Target, index: int) -> Path:
    path = executed_line.line.paths[index]
    return path if executed_line.doc is not None else (*target.base_path, *path)


def _find_options_end(words: Sequence[str]) -> int:
    """Return the index of the first word after the program and its options."""
    return next((at for at, word in enumerate(words) if at and not word.startswith("-")), len(words))


def _explain_several_words(line: ExecCommand, index: int, program_index: int | None, options_end: int) -> str:
    """Return why a word appears to be several words, or "" if it is one.

    The options of the program end at the index ``options_end``.
    """
    word, previous_word = line.texts[index], line.texts[index - 1] if index else ""
    if not word.strip() or len(word.split(None, 1)) < 2:
        return ""
    if index == program_index:
        first = word.split()[0]
        is_command = first.rpartition("/")[2] in _COMMON_COMMANDS or _PROGRAM_AND_ARGUMENTS.fullmatch(word)
        is_path = first.startswith(("/", ".")) and not is_command and not re.search(r"\s-", word)
        return "" if is_path else "Kubernetes looks for a program of that name, including the blanks"
    if index == 0 and not line.has_program:
        return ""  # the entrypoint of the image may be a shell
    if line.texts[0].rpartition("/")[2] in _TAKE_PATTERNS:
        return ""
    if _takes_value(previous_word) and _COMMAND_LINE_OPTION.fullmatch(previous_word):
        return ""
    if _OPTION_AND_VALUE.fullmatch(word):
        return "the program gets one argument and has no option of that name"
    if _TWO_OPTIONS.fullmatch(word) and not _COMMAND_LINE_OPTION.fullmatch(word.partition("=")[0]):
        return "the second option belongs to the value of the first"
    if _INTERPRETER_COMMAND.fullmatch(previous_word) and _SHORT_AND_VALUE.fullmatch(word):
        return "the blank belongs to the value of the option"
    if previous_word == "-m" and _INTERPRETER_COMMAND.fullmatch(line.texts[index - 2]):
        return "no module has that name, including the blanks"
    if previous_word.rpartition("/")[2] in _WITH_SUBCOMMANDS and _SUBCOMMAND.fullmatch(word):
        return "no subcommand has that name, including the blanks"
    if _takes_value(previous_word) and index > options_end:
        return ""
    if _SHELL_COMMAND.fullmatch(line.texts[0]) and index > 1 and not line.texts[1].startswith("-"):
        return ""  # an argument of a script, which may split it
    if _SCRIPT_AND_ARGUMENTS.fullmatch(word) or _PROGRAM_AND_ARGUMENTS.fullmatch(word):
        return "no file has that name, including the blanks"
    return ""


@check(requires=(SHELL,))
def words_after_shell_script(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Words that follow the script of a shell, and that it does not use; values ``shell`` and ``count``."""
    for executed_line in find_executed_lines(target):
        line = executed_line.line
        shell = exec_form.find_shell_call(line)
        if shell is None or shell.rest_index >= len(line.texts):
            continue
        script, remaining_words = line.texts[shell.script_index], line.texts[shell.rest_index :]
        if _POSITIONAL_PARAMETER.search(script) or (
            len(remaining_words) == 1 and _is_script_name(remaining_words[0], script)
        ):
            continue
        path = line.paths[shell.script_index]
        if executed_line.doc is None and (is_of_controller(target, path) or _is_mounted(target, path)):
            continue  # the use of the words after it is not known, or they are arguments of a file
        hit = executed_line.build_violation(
            shell.rest_index,
            shell=shell.get_program_name(line),
            count=format_count(len(remaining_words), "word"),
        )
        at = line.paths[shell.script_index]
        place = (
            (executed_line.doc, at)
            if executed_line.doc is not None
            else (target.doc, (*target.base_path, *at))
        )
        yield hit._replace(related=[(*place, "the script ends with this word")])


def _is_mounted(subject: Target, path: Path) -> bool:
    """Whether a script is a file of a ConfigMap (``analysis.mounted_scripts``)."""
    source = trace_to_source(subject.doc, (*subject.base_path, *path))[-1].doc
    return isinstance(source.data, dict) and source.data.get("kind") == "ConfigMap"


def is_of_controller(subject: Target, path: Path) -> bool:
    """Whether a word comes from the controller and from no file."""
    steps = trace_to_source(subject.doc, (*subject.base_path, *path))
    return any(step.origin is not None and step.origin.behavior is not None for step in steps)


def _is_script_name(word: str, script: str) -> bool:
    """Whether the only word after a script is ``$0``, its name in messages."""
    return word in ("--", "-") or (len(script.split()) > 1 and re.fullmatch(r"\w+", word) is not None)


@check()
def shell_command_as_program(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A shell builtin or keyword in the place of a program; values ``word``, ``what``, ``starter``."""
    for executed_line in find_executed_lines(target):
        index = _find_program_index(executed_line.line) if executed_line.starter else None
        if index is None:
            continue
        word = executed_line.line.texts[index]
        if word in _SHELL_BUILTINS:
            description = "a shell command"
        elif word in _SHELL_KEYWORDS:
            description = "a shell keyword"
        elif "=" in word and _ASSIGNMENT.fullmatch(word) and len(word.split(None, 1)) < 2:
            word, description = f"{word.partition('=')[0]}=…", "an assignment"
        else:
            continue
        yield executed_line.build_violation(index, word=word, what=description, starter=executed_line.starter)


def _find_program_index(line: ExecCommand) -> int | None:
    """Return the index of the program: the first word, or the one that a wrapper runs."""
    if not line.has_program:
        return None
    first = line.texts[0]
    return 0 if first in _SHELL_BUILTINS or first in _SHELL_KEYWORDS else exec_form.find_program_word(line)


@check()
def literal_quotes(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Quotes around a value that no shell takes away; values ``quote`` and ``name``."""
    for executed_line in find_executed_lines(target):
        words = executed_line.line.texts
        for index in exec_form.iter_literal_words(executed_line.line):
            match = _QUOTED_WORD.fullmatch(words[index]) if words[index].endswith(("'", '"')) else None
            is_whole_word = match is not None and match.start(1) == 0
            if match is None or (
                is_whole_word and match[1] == '"' and index and _takes_value(words[index - 1])
            ):
                continue  # perhaps a JSON string
            name = words[index].partition("=")[0] if not is_whole_word else "the word"
            unquoted = (words[index][: match.start(1)] + words[index][match.end(1) : -1]).strip()
            violation = executed_line.build_violation(index, quote=match[1], name=name)
            base = target.base_path if executed_line.doc is None else ()
            yield violation._replace(change=("set", (*base, *violation.path), unquoted) if unquoted else None)


@check()
def trailing_newline(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A word of one line that ends with a line break; value ``program``."""
    for executed_line in find_executed_lines(target):
        for index in exec_form.iter_literal_words(executed_line.line):
            word = executed_line.line.texts[index]
            if word.endswith("\n") and word.strip() and "\n" not in word.rstrip("\n"):
                violation = executed_line.build_violation(
                    index, program=exec_form.describe_program(executed_line.line)
                )
                base = target.base_path if executed_line.doc is None else ()
                yield violation._replace(change=("set", (*base, *violation.path), word.rstrip("\n")))


@check(requires=(SHELL,))
def option_as_command(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An option that a script runs as a command, or that a blank precedes; values ``option`` and ``why``."""
    for executed_line in find_executed_lines(target):
        shell = exec_form.find_shell_call(executed_line.line)
        if shell is not None and executed_line.doc is None:
            script = executed_line.line.texts[shell.script_index]
            if stray_option := _find_stray_option(script):
                word, option, reason = stray_option
                hit = executed_line.build_violation(shell.script_index, option=option, why=reason)
                yield hit._replace(path=TextPath(hit.path, (word.start, word.end)))


def _find_stray_option(script: str) -> tuple[Word, str, str] | None:
    """Return the word of a script that was meant as an argument, the option in it, and the reason."""
    if cut := _find_word_after_comment(script):
        return cut, cut.text.partition("=")[0], "the comment above it ends the continued command"
    if not _CONTINUATION.search(script):
        return None
    from podplan.launchers import shell

    for command in shell.parse_script(script, {}).commands:
        first = command.words[0].text
        if re.match(r"-{1,2}[A-Za-z]", first) and command.operator_before in ("\n", ""):
            return command.words[0], first.partition("=")[0], "the line before does not end with a backslash"
        for word in command.words:
            if re.match(r"\s+-", word.text) and script[word.start : word.start + 2] in ("\\ ", "\\\t"):
                return (
                    word,
                    word.text.strip().partition("=")[0],
                    "a backslash before a blank is part of the word",
                )
    return None


def _find_word_after_comment(script: str) -> Word | None:
    """Return the first word after a comment inside a continued command; None if there is none."""
    if not _COMMENTED.search(script):
        return None
    from podplan.launchers.tokens import find_comments

    for start, end in find_comments(script)[:_MAX_COMMENTS]:
        begins, follows = script.rfind("\n", 0, start) + 1, _CONTINUED.match(script, end)
        if follows is None or not _is_continued(script, begins):
            continue
        first = begins
        while _is_continued(script, first):
            first = script.rfind("\n", 0, first - 1) + 1
        indentation = _BLANKS.match(script, first)
        if len(follows[1]) == start - begins > (len(indentation[0]) if indentation else 0):
            return Word(follows[2], start=follows.start(2), end=follows.end(2))
    return None


def _is_continued(script: str, at: int) -> bool:
    """Whether the line that begins at an offset continues the one before it."""
    return script[max(at - 2, 0) : at] == "\\\n"
