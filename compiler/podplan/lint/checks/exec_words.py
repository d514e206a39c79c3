"""What people write in command and args for a shell that is not there, and in scripts for the one that is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc, trace
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.launchers import exec_form
from podplan.launchers.exec_form import Line
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import counted, kind_of, spec_of
from podplan.lint.analysis.over_ssh import over_ssh
from podplan.lint.checks.launcher_words import reported_places
from podplan.lint.target import Hit, Job, Subject, for_one


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operators, and those of them that may also be the value of an option, such as a separator.
_OPERATORS = _words("&& || |& 2>&1 1>&2 >&2 &> &>> 2> 2>> 1> 1>> >> << <<< ;;")
_AMBIGUOUS = _words("| ; > < &")
_REDIRECTION = pattern(r"(?:[0-2]|&)>>?(?:&[0-2]|[^\s=>&][^>]*)|>>?[/.~][^\s>]*")
_COMMANDS = _words(
    """
    bash cat cp curl echo env exec export grep head less ls mkdir mv nohup pip python python3 rm sed sh
    sleep sort source tail tee timeout torchrun touch true wget
    """
)
_BACKTICKS = pattern(r"(?:-{1,2}[\w.-]+=)?(`[^`]+`)")
_SUBSTITUTION = pattern(r"\$\((?!\()[^()\s]+\s[^()]*\)")
_VARIABLE = pattern(
    r"\$\$?(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?P<default>:?[-=?+][^{}]*)?\})"
)
_CONSTANT = pattern(r"[A-Z_][A-Z0-9_]+")
_ALL_ARGUMENTS = frozenset(("$@", "$*", '"$@"', '"$*"', "${@}"))
_HOME = pattern(r"(?:-{1,2}[\w.-]+=)?~/.*", re.DOTALL)
_FILE_COMMANDS = _words("cat chmod chown cp du gzip head ln ls mkdir mv rm rmdir tail tar touch wc")
_GLOB = pattern(r"\*|\[[^\[\]]+\]|\{[^{}]*(?:,|\.\.)[^{}]*\}")
_SCRIPT_AND_ARGUMENTS = pattern(r"\S+\.(?:py|sh|bash)\s+\S.*", re.DOTALL)
_PROGRAM_AND_ARGUMENTS = pattern(
    r"(?:\S*/)?(?:python[0-9.]*|torchrun|accelerate|deepspeed|bash|sh)\s+\S.*", re.DOTALL
)
_OPTION_AND_VALUE = pattern(r"--[A-Za-z][\w.-]*\s+\S.*", re.DOTALL)
_TWO_OPTIONS = pattern(r"--[A-Za-z][\w.-]*=\S*\s+--[A-Za-z].*", re.DOTALL)
_SUBCOMMAND = pattern(r"(?:launch|run)\s+\S.*", re.DOTALL)
_WITH_SUBCOMMANDS = _words("accelerate colossalai conda mamba micromamba uv poetry pipenv pdm pixi")
_SHORT_AND_VALUE = pattern(r"-[A-Za-z]*[cm]\s+\S.*", re.DOTALL)
_INTERPRETER = pattern(r"(?:\S*/)?(?:python[0-9.]*|(?:ba|da|k|z|a)?sh)")
_TAKES_A_LINE = pattern(r"-.*(?:arg|opt|flag|param|cmd|command|extra|env|run|exec).*", re.IGNORECASE)
_FLAGS = frozenset(("--", "--standalone", "--no-python", "--no_python", "--module", "--allow-run-as-root"))
_POSITIONAL = pattern(
    r"\$(?:[0-9@*#]|\{[#!]?[0-9@*])|\b(?:shift|getopts|eval|BASH_ARGV|BASH_ARGC)\b|\bset\s+--"
)
_BUILTINS = _words(
    """
    . : alias bind builtin cd declare dirs disown eval exec export let local logout mapfile popd pushd
    read readarray readonly return set shift shopt source trap typeset ulimit umask unalias unset wait
    """
)
_KEYWORDS = _words("if then else elif fi for while until do done case esac select function { } ( ) [[ !")
_ASSIGNMENT = pattern(r"[A-Za-z_]\w*=.*", re.DOTALL)
_QUOTED = pattern(r"(?:-{1,2}[\w.-]+=)?(['\"]).+\1", re.DOTALL)
# A comment behind a line that is continued, and the line below it.
_COMMENTED = pattern(r"\\\n[ \t]*#")
_CONTINUED = pattern(r"\n(?:[ \t]*#[^\n]*\n)*([ \t]+)([^\s#]\S*)")
_BLANKS = pattern(r"[ \t]*")
_MAX_COMMENTS = 100  # of a script that are looked at
_MAY_CONTINUE = pattern(r"\n[ \t]*-|\\[ \t]")


class Source(NamedTuple):
    """A line that a container executes. With ``doc`` its paths are those of that document, the CR."""

    line: Line
    doc: Doc | None = None

    def hit(self, at: int, **values: Any) -> Hit:
        return Hit(self.line.paths[at], values, doc=self.doc)


def sources(subject: Subject) -> list[Source]:
    """The lines that a container executes, and the words of the CR that its controller quotes for a shell."""
    found = [Source(line) for line in _lines_of(subject.data)]
    job, group = subject.job, subject.group
    if group is None or kind_of(job) != "DeepSpeedJob" or over_ssh(job):
        return found
    from podplan.lint.analysis.deepspeed_line import line_of

    started = line_of(job)
    if started is not None and not started.custom and subject.base[-1] == (group.training or 0):
        found += [Source(line, job.cr) for line in _lines_of_deepspeed(job)]
    return found


@for_one
def _lines_of(container: Mapping[str, Any]) -> list[Line]:
    return exec_form.lines(container)


def _lines_of_deepspeed(job: Job) -> Iterator[Line]:
    """The program that deepspeed runs with its arguments, at their places in the CR."""
    run = mapping(mapping(spec_of(job), "config"), "run")
    for form in run:
        words = texts(run, form)
        if words:
            paths = tuple(("spec", "config", "run", form, at) for at, _ in words)
            yield Line(tuple(word for _, word in words), paths)


def shell_syntax_without_shell(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Operators of a shell among the words of a line; values ``operator`` and ``program``."""
    for source in sources(subject):
        line = source.line
        for at in exec_form.literal_words(line):
            if at and (operator := _operator(line.texts, at)):
                yield source.hit(at, operator=operator, program=exec_form.program(line))
                break


def _operator(words: Sequence[str], at: int) -> str:
    """The operator that a word is to a shell, or ends with; "" where it may well be an argument."""
    text = words[at]
    before, after = words[at - 1], words[at + 1] if at + 1 < len(words) else ""
    if text in _OPERATORS:
        return text
    starts_command = after.rpartition("/")[2] in _COMMANDS or (after != "" and after == words[0])
    if text not in _AMBIGUOUS and text.endswith(";"):
        return ";" if starts_command and text != "\\;" else ""
    if _is_option(before) and not starts_command:
        return ""
    if text in ("<", ">"):
        return text if "/" in after or "." in after else ""
    if text in _AMBIGUOUS:
        return text if after or text == "&" else ""
    return text if _REDIRECTION.fullmatch(text) else ""


def _is_option(text: str) -> bool:
    """Whether the next word may be the value of this one."""
    return text.startswith("-") and "=" not in text and text not in _FLAGS


def shell_expansion_without_shell(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """What a shell would replace in a word that none reads; values ``what`` and ``instead``."""
    declared = {text(entry, "name") for _, entry in entries(subject.data, "env")}
    for source in sources(subject):
        line = source.line
        if not line.has_program and len(line.texts) == 1:
            continue  # the entrypoint of the image may be a shell
        for at in exec_form.literal_words(line):
            word = line.texts[at]
            if found := _expansion(word, at, line, declared):
                what, name = found
                if subject.job.gitops == "flux" and what.startswith("${"):
                    continue  # Flux replaces it before Kubernetes sees it
                instead = f"; Kubernetes replaces $({name})" if name in declared else ""
                hit = source.hit(at, what=what, instead=instead)
                fixed = _with_references(word, declared)
                base = subject.base if source.doc is None else ()
                yield hit._replace(change=("set", (*base, *hit.path), fixed) if fixed else None)


def _expansion(word: str, at: int, line: Line, declared: set[str]) -> tuple[str, str] | None:
    """The first thing that a shell would replace in a word, with the name of the variable if it is one."""
    for found in _VARIABLE.finditer(word):
        name = found["plain"] or found["braced"] or ""
        if name and (name in declared or _CONSTANT.fullmatch(name)):
            return found[0], name
    if word in _ALL_ARGUMENTS:
        return word, ""
    if ticks := _BACKTICKS.fullmatch(word):
        return f"`{_first_of(ticks[1].strip('`'))}`", ""
    if _HOME.fullmatch(word):
        return "~", ""
    if substitution := _SUBSTITUTION.search(word):
        return f"$({_first_of(substitution[0][2:-1])})", ""
    of_files = at and exec_form.program(line) in _FILE_COMMANDS and not word.startswith("-")
    return (word, "") if of_files and _GLOB.search(word) else None


def _first_of(command: str) -> str:
    """A command without its arguments, which may be secrets."""
    first, *rest = command.split(None, 1) or [""]
    return f"{first} …" if rest else first


def _with_references(word: str, declared: set[str]) -> str:
    """The word with ``$(NAME)`` for each variable in it; "" where that does not replace all of them."""

    def reference(found: re.Match[str]) -> str:
        name = found["plain"] or found["braced"]
        return f"$({name})" if name in declared and not found["default"] else found[0]

    made = _VARIABLE.sub(reference, word)
    left = re.search(r"\$[A-Za-z_{@*]|`", made) or _SUBSTITUTION.search(made)
    return "" if made == word or left else made


def command_line_in_one_word(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Several words of a command line in one; values ``begins`` and ``why``."""
    known = reported_places(subject.job) if subject.job.cr is not None else frozenset()
    for source in sources(subject):
        line = source.line
        called = exec_form.program_word(line) if source.doc is None else None
        options = _options_end(line.texts)
        for at in exec_form.literal_words(line):
            why = _why_several(line, at, called, options)
            if why and (id(source.doc or subject.doc), _from_root(source, subject, at)) not in known:
                yield source.hit(at, begins=f"{line.texts[at].split()[0]} …", why=why)
            if why and at == called:
                break  # what it is meant to read is in the words that follow


def _from_root(source: Source, subject: Subject, at: int) -> Path:
    path = source.line.paths[at]
    return path if source.doc is not None else (*subject.base, *path)


def _options_end(words: Sequence[str]) -> int:
    """The number of the first word behind the program and its options."""
    return next((at for at, word in enumerate(words) if at and not word.startswith("-")), len(words))


def _why_several(line: Line, at: int, called: int | None, options: int) -> str:
    """Why a word is taken for several, "" where it is one. ``options`` is where those of the program end."""
    word, before = line.texts[at], line.texts[at - 1] if at else ""
    if not word.strip() or len(word.split(None, 1)) < 2:
        return ""
    if at == called:
        first = word.split()[0]
        known = first.rpartition("/")[2] in _COMMANDS or _PROGRAM_AND_ARGUMENTS.fullmatch(word)
        is_path = first.startswith(("/", ".")) and not known and not re.search(r"\s-", word)
        return "" if is_path else "Kubernetes looks for a program of that name, with the blanks in it"
    if at == 0 and not line.has_program:
        return ""  # the entrypoint of the image may be a shell
    if _is_option(before) and _TAKES_A_LINE.fullmatch(before):
        return ""
    if _OPTION_AND_VALUE.fullmatch(word):
        return "the program gets one argument and knows no option of that name"
    if _TWO_OPTIONS.fullmatch(word) and not _TAKES_A_LINE.fullmatch(word.partition("=")[0]):
        return "the second option belongs to the value of the first"
    if _INTERPRETER.fullmatch(before) and _SHORT_AND_VALUE.fullmatch(word):
        return "the blank belongs to the value of the option"
    if before == "-m" and _INTERPRETER.fullmatch(line.texts[at - 2]):
        return "there is no module of that name, with the blanks in it"
    if before.rpartition("/")[2] in _WITH_SUBCOMMANDS and _SUBCOMMAND.fullmatch(word):
        return "there is no subcommand of that name, with the blanks in it"
    if _is_option(before) and at > options:
        return ""
    if _SCRIPT_AND_ARGUMENTS.fullmatch(word) or _PROGRAM_AND_ARGUMENTS.fullmatch(word):
        return "there is no file of that name, with the blanks in it"
    return ""


def words_after_shell_script(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Words that follow the script of a shell, and that it does not use; values ``shell`` and ``count``."""
    for source in sources(subject):
        line = source.line
        shell = exec_form.shell(line)
        if shell is None or shell.rest >= len(line.texts):
            continue
        script, rest = line.texts[shell.script], line.texts[shell.rest :]
        if _POSITIONAL.search(script) or (len(rest) == 1 and _names_the_script(rest[0], script)):
            continue
        if is_of_controller(subject, line.paths[shell.script]):
            continue  # what becomes of words behind it is not known
        hit = source.hit(shell.rest, shell=shell.name(line), count=counted(len(rest), "word"))
        at = line.paths[shell.script]
        place = (source.doc, at) if source.doc is not None else (subject.doc, (*subject.base, *at))
        yield hit._replace(related=[(*place, "the script ends with this word")])


def is_of_controller(subject: Subject, path: Path) -> bool:
    """Whether the controller makes a word, and nobody wrote it."""
    steps = trace(subject.doc, (*subject.base, *path))
    return any(step.origin is not None and step.origin.fact is not None for step in steps)


def _names_the_script(word: str, script: str) -> bool:
    """Whether the only word after a script is what it is to be called by in messages, ``$0``."""
    return word in ("--", "-") or (len(script.split()) > 1 and re.fullmatch(r"\w+", word) is not None)


def shell_command_as_program(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A command that only shells have in the place of a program; values ``word`` and ``what``."""
    for source in sources(subject):
        at = _first_word(source.line) if source.doc is None else None
        if at is None:
            continue
        word = source.line.texts[at]
        if word in _BUILTINS:
            what = "a command of the shell"
        elif word in _KEYWORDS:
            what = "a keyword of the shell"
        elif _ASSIGNMENT.fullmatch(word) and len(word.split(None, 1)) < 2:
            word, what = f"{word.partition('=')[0]}=…", "an assignment"
        else:
            continue
        yield source.hit(at, word=word, what=what)


def _first_word(line: Line) -> int | None:
    """The number of the word in the place of the program: the first, or the one that a wrapper is to run."""
    if not line.has_program:
        return None
    first = line.texts[0]
    return 0 if first in _BUILTINS or first in _KEYWORDS else exec_form.program_word(line)


def literal_quotes(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Quotes around a value that no shell takes away; values ``quote`` and ``name``."""
    for source in sources(subject):
        words = source.line.texts
        for at in exec_form.literal_words(source.line):
            found = _QUOTED.fullmatch(words[at])
            whole = found is not None and found.start(1) == 0
            if found is None or (whole and found[1] == '"' and at and _is_option(words[at - 1])):
                continue  # a string of JSON, it may be
            name = words[at].partition("=")[0] if not whole else "the word"
            change = (words[at][: found.start(1)] + words[at][found.end(1) : -1]).strip()
            hit = source.hit(at, quote=found[1], name=name)
            base = subject.base if source.doc is None else ()
            yield hit._replace(change=("set", (*base, *hit.path), change) if change else None)


def trailing_newline(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A word of one line that ends with a line break; value ``program``."""
    for source in sources(subject):
        for at in exec_form.literal_words(source.line):
            word = source.line.texts[at]
            if word.endswith("\n") and word.strip() and "\n" not in word.rstrip("\n"):
                hit = source.hit(at, program=exec_form.program(source.line))
                base = subject.base if source.doc is None else ()
                yield hit._replace(change=("set", (*base, *hit.path), word.rstrip("\n")))


def option_as_command(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An option that a script runs as a command, or with a blank before it; values ``option`` and ``why``."""
    for source in sources(subject):
        shell = exec_form.shell(source.line)
        if shell is not None and source.doc is None:
            script = source.line.texts[shell.script]
            if found := _stray_option(script):
                word, option, why = found
                hit = source.hit(shell.script, option=option, why=why)
                yield hit._replace(path=TextPath(hit.path, (word.start, word.end)))


def _stray_option(script: str) -> tuple[Word, str, str] | None:
    """The word of a script that is no argument as it was meant, the option in it, and why."""
    if cut := _after_comment(script):
        return cut, cut.text.partition("=")[0], "the comment above it ends the continued command"
    if not _MAY_CONTINUE.search(script):
        return None
    from podplan.launchers import shell

    for command in shell.script(script, {}).commands:
        first = command.words[0].text
        if re.match(r"-{1,2}[A-Za-z]", first) and command.before in ("\n", ""):
            return command.words[0], first.partition("=")[0], "the line before does not end with a backslash"
        for word in command.words:
            if re.match(r"\s+-", word.text) and script[word.start : word.start + 2] in ("\\ ", "\\\t"):
                return (
                    word,
                    word.text.strip().partition("=")[0],
                    "a backslash before a blank is part of the word",
                )
    return None


def _after_comment(script: str) -> Word | None:
    """The first word below a comment that stands between the lines of a continued command; None for none."""
    if not _COMMENTED.search(script):
        return None
    from podplan.launchers.tokens import comments

    for start, end in comments(script)[:_MAX_COMMENTS]:
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
