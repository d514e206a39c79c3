"""Servers without authentication, and secrets that a script prints.

Sources: https://jupyter-server.readthedocs.io/en/latest/operators/security.html,
https://coder.com/docs/code-server/guide, https://redis.io/docs/latest/operate/oss_and_stack/management/security/,
https://kubernetes.io/docs/concepts/security/secrets-good-practices/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.processes import Process
from podplan.launchers.shell_nodes import Block, Node, SimpleCommand
from podplan.launchers.words import Word
from podplan.lint.analysis.processes import process_of, programs_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_JUPYTER = frozenset(("jupyter", "jupyter-lab", "jupyter-notebook", "jupyter-server", "jupyter-nbclassic"))
_JUPYTER_TOKEN = compile_lazily(r"--(?:ServerApp|NotebookApp|IdentityProvider|LabApp)\.token=(.*)")
_JUPYTER_PASSWORD = compile_lazily(
    r"--(?:(?:ServerApp|NotebookApp|LabApp)\.password|PasswordIdentityProvider\.hashed_password)=(.*)"
)
_ADDRESS = compile_lazily(r"--(?:(?:(?:Server|Notebook|Lab)App\.)?ip|host|bind-addr|bind)(?:=(.*))?")
_EVERYWHERE = compile_lazily(r"['\"]?(?:0\.0\.0\.0|\*|::|\[::\])(?::\d+)?['\"]?")
_QUOTES = "'\""


@check()
def server_without_login(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A server that runs code without authentication; values ``program`` and ``what`` disables it."""
    variables = {get_text(entry, "name"): (at, entry) for at, entry in get_entries(subject.data, "env")}
    for _command, process in programs_of(subject.data):
        found = _find_opening(process, variables)
        if found is not None:
            what, place = found
            yield Violation(place, {"program": process.name, "what": what})


def _find_opening(
    process: Process, variables: Mapping[str, tuple[int, Mapping[str, Any]]]
) -> tuple[str, Path] | None:
    """Return the setting that disables authentication, and its path; None if a login is required."""
    words, name = process.words, process.name
    texts = [word.text for word in words]
    if name in _JUPYTER:
        return _find_open_jupyter(words, variables) if _listens_everywhere(texts) else None
    if name == "code-server" and _listens_everywhere(texts):
        place = _find_option(words, "--auth", ("none",))
        return ("--auth=none", place) if place is not None else None
    if name in ("code", "openvscode-server", "code-tunnel") and _listens_everywhere(texts):
        place = _find_option(words, "--without-connection-token", ("",))
        return ("--without-connection-token", place) if place is not None else None
    if name in ("ttyd", "gotty"):
        has_login = any(text.startswith(("-c", "--credential")) for text in texts)
        is_local = any(text in ("127.0.0.1", "localhost", "lo") for text in texts)
        return (
            ("no credential", words[0].place) if not has_login and not is_local and len(words) > 1 else None
        )
    if name == "redis-server" and "--requirepass" not in texts:
        place = _find_option(words, "--protected-mode", ("no",))
        return ("--protected-mode no", place) if place is not None else None
    return None


def _find_open_jupyter(
    words: tuple[Word, ...], variables: Mapping[str, tuple[int, Mapping[str, Any]]]
) -> tuple[str, Path] | None:
    for word in words:
        password = _JUPYTER_PASSWORD.fullmatch(word.text)
        if password is not None and (password[1].strip(_QUOTES) or not word.is_known):
            return None
    for word in words:
        token = _JUPYTER_TOKEN.fullmatch(word.text)
        if token is not None:
            is_empty = word.is_known and not token[1].strip(_QUOTES)
            return ("an empty token and no password", word.place) if is_empty else None
    nothing: tuple[int, Mapping[str, Any]] = (0, {})
    at, entry = variables.get("JUPYTER_TOKEN", nothing)
    if entry.get("value") == "":
        return "an empty JUPYTER_TOKEN and no password", ("env", at)
    return None


def _listens_everywhere(texts: Sequence[str]) -> bool:
    """Whether the last address option of a server means all interfaces."""
    addresses = []
    for text, following in zip(texts, [*texts[1:], ""], strict=True):
        option = _ADDRESS.fullmatch(text)
        if option is not None:
            addresses.append(option[1] if option[1] is not None else following)
    return bool(addresses) and _EVERYWHERE.fullmatch(addresses[-1]) is not None


def _find_option(words: tuple[Word, ...], name: str, values: tuple[str, ...]) -> Path | None:
    """Return the path of an option with one of some values; "" stands for no value."""
    for at, word in enumerate(words):
        written, equals, value = word.text.partition("=")
        if written != name:
            continue
        following = words[at + 1].text if at + 1 < len(words) else ""
        if "" in values or (value if equals else following) in values:
            return word.place
    return None


# Commands that print all variables, and filters that remove most of them.
_FILTERS = frozenset(
    ("grep", "egrep", "sed", "awk", "cut", "wc", "sha256sum", "md5sum", "xargs", "head", "while")
)
_ENVIRON_FILE = compile_lazily(r"/proc/(?:self|1|\$\$)/environ")
_ENVIRON_IN_PYTHON = compile_lazily(r"print\(\s*(?:dict\()?os\.environ\s*\)")


class PrintingCommand(NamedTuple):
    """A command that prints variables: its text and its path."""

    text: str
    place: Path


@check()
def environment_in_log(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A script that prints variables from a Secret. Values: ``command``, ``name`` of one of them."""
    secrets: dict[str, Path] = {}
    for at, entry in get_entries(subject.data, "env"):
        if get_mapping(get_mapping(entry, "valueFrom"), "secretKeyRef"):
            secrets[get_text(entry, "name")] = ("env", at)
    for at, source in get_entries(subject.data, "envFrom"):
        if get_mapping(source, "secretRef"):
            name = get_text(get_mapping(source, "secretRef"), "name")
            secrets[f'the keys of the Secret "{name}"'] = ("envFrom", at)
    if not secrets:
        return
    name, where = next(iter(secrets.items()))
    for shown in _iter_prints(process_of(subject.data), frozenset(secrets)):
        related = [(subject.doc, below(subject.base_path, where), "from a Secret")]
        yield Violation(shown.place, {"command": shown.text, "name": name}, related)
        return


def _iter_prints(process: Process, secrets: frozenset[str]) -> Iterator[PrintingCommand]:
    if process.string is None:
        if _prints_variables(process.words, process.wrappers, secrets):
            yield PrintingCommand(_show(process.words, process.wrappers), process.place or ("command",))
        return
    string = process.string

    def visit(nodes: Sequence[Node]) -> Iterator[PrintingCommand]:
        for at, node in enumerate(nodes):
            if isinstance(node, Block):
                if node.kind != "function":
                    yield from visit(node.nodes)
                continue
            last = at
            while nodes[last].operator_after in ("|", "|&") and last + 1 < len(nodes):
                last += 1
            pipeline = nodes[at + 1 : last + 1]
            is_kept_back = any(
                isinstance(one, Block) or one.words[0].base_name in _FILTERS or _goes_to_file(one)
                for one in pipeline
            )
            inner = string.process(node)
            if inner.string is not None:
                yield from _iter_prints(inner, secrets)
            elif (
                not is_kept_back
                and not _goes_to_file(node)
                and _prints_variables(inner.words, inner.wrappers, secrets)
            ):
                yield PrintingCommand(
                    _show(inner.words, inner.wrappers), string.place_word(node.words[0]).place
                )

    yield from visit(string.nodes)


def _goes_to_file(command: SimpleCommand) -> bool:
    return any(">" in one.operator and ">&" not in one.operator for one in command.redirections)


def _show(words: tuple[Word, ...], wrappers: tuple[str, ...]) -> str:
    return " ".join(word.text for word in words)[:60] if words else wrappers[-1]


def _prints_variables(words: tuple[Word, ...], wrappers: tuple[str, ...], secrets: frozenset[str]) -> bool:
    """Whether a command prints all variables, or one of those from a Secret."""
    if not words:
        return wrappers[-1:] == ("env",)
    name, arguments = words[0].base_name, [word.text for word in words[1:]]
    if name == "printenv":
        return not arguments or not secrets.isdisjoint(arguments)
    if name in ("export", "declare", "typeset"):
        return arguments in (["-p"], ["-x"], ["-px"], ["-xp"]) or (name == "export" and not arguments)
    if name == "set":
        return not arguments
    if name == "cat":
        return any(_ENVIRON_FILE.fullmatch(argument) for argument in arguments)
    if name.startswith("python") and "-c" in arguments:
        return any(_ENVIRON_IN_PYTHON.search(argument) for argument in arguments)
    return False
