"""Rendered CRs in the checked tree: what they were made of, and whether that still gives the same."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise

from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.findings import Problem, Severity, value_at
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc
from podplan.core.typing import NamedTuple
from podplan.kinds.common.gitops_tools import TOOLS
from podplan.pipeline import Plan, Settings, plans
from podplan.workspace import Reader
from podplan.workspace.documents import Item, items
from podplan.workspace.files import OutsideRoot, from_root, in_repository, in_user_terms, root_of, why_no_path

RENDERED_FROM = "# podplan: rendered from "
# What ends a line, and what YAML does not allow.
_NOT_IN_A_COMMENT = pattern(
    "[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


class Header(NamedTuple):
    """What a rendered CR was made of: a file as seen from the root, and the flags -e, --gitops and --set."""

    file: str
    environment: str
    gitops: str
    sets: dict[str, str]


def header(plan: Plan, settings: Settings) -> str:
    """The comment for a rendered CR, as a line of text."""
    words = [from_root(plan.item.doc.name)]
    words += ["-e", plan.environment] if plan.environment else []
    words += ["--gitops", settings.gitops] if settings.gitops != "none" else []
    for key, value in settings.sets.items():
        words += ["--set", f"{key}={value}"]
    return RENDERED_FROM + " ".join(map(_quoted, words)) + "\n"


def _quoted(word: str) -> str:
    """A word as a shell reads it, always in one line: nothing in a name or a value may end the comment."""
    if not _NOT_IN_A_COMMENT.search(word):
        return shlex.quote(word)
    told = (char if char not in "\\'" else f"\\{char}" for char in word)
    return f"$'{_NOT_IN_A_COMMENT.sub(lambda match: f'{chr(92)}u{ord(match[0]):04x}', ''.join(told))}'"


def header_of(item: Item) -> Header | None:
    """What the comment of a CR says; None for a CR that is hand-written.

    Outside a git repository nobody can tell from which folder the source was named: None there too, and
    where the comment names what can be no file.
    """
    source = item.doc.source
    lines = source.header if source is not None and in_repository(item.doc.name) else []
    line = next((line for line in lines if line.startswith(RENDERED_FROM)), None)
    if line is None:
        return None
    from podplan.launchers.quoting import resplit

    read = resplit(line.removeprefix(RENDERED_FROM))
    if read.fault or read.operator or not read.words:
        return None
    file, *flags = (word.text for word in read.words)
    if why_no_path(file):
        return None
    environment = next((value for flag, value in pairwise(flags) if flag == "-e"), "")
    gitops = next((value for flag, value in pairwise(flags) if flag == "--gitops" and value in TOOLS), "none")
    pairs = (value.partition("=") for flag, value in pairwise(flags) if flag == "--set")
    return Header(file, environment, gitops, {key: value for key, _, value in pairs})


def source_path(item: Item, said: Header) -> str:
    """The file that a rendered CR was made of, in the user's terms."""
    shown = item.doc.name
    return in_user_terms(os.path.join(root_of(shown), said.file), shown)


def compare(item: Item, said: Header, settings: Settings, reader: Reader) -> Problem | None:
    """What is wrong with a rendered CR: its source is gone, or renders something else now."""
    now = plan_now(item, said, settings, reader)
    if isinstance(now, str):
        return Problem("GIT001", now, help="render again, or delete this file")
    assert now.cr is not None
    if now.cr.data == item.doc.data:
        return None
    path = _first_difference(now.cr.data, item.doc.data)
    value = value_at(now.cr.data, path)  # a text may be secret
    is_plain = isinstance(value, bool | int) and isinstance(path[-1], str)
    here = f", here {path[-1]}: {str(value).lower()}" if is_plain else ""
    return Problem(
        "GIT001",
        f"{said.file} renders something else now{here}; render it again instead of editing this file",
        path,
    )


def unreadable(item: Item, said: Header, reader: Reader) -> str:
    """Why the source of a rendered CR cannot be read; "" where it can be, and where there is none."""
    try:
        source = reader.source(root_of(item.doc.name), source_path(item, said))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()
    except OutsideRoot as error:
        return error.reason
    broken = (fault for fault in source.faults if RULES[fault.rule].severity is Severity.ERROR)
    return next((f"line {fault.span.line}: {fault.message}" for fault in broken), "")


def plan_now(item: Item, said: Header, settings: Settings, reader: Reader) -> Plan | str:
    """The plan that the source makes now for this CR; else a sentence."""
    path = source_path(item, said)
    try:
        source = reader.source(root_of(item.doc.name), path)
        docs = [found for found in items(source) if found.what == "profile"]
    except (FileNotFoundError, NotADirectoryError):
        return f"{said.file}, which this was rendered from, is not there"
    except (OSError, OutsideRoot):
        return f"{said.file}, which this was rendered from, cannot be read"
    environments = (said.environment,) if said.environment else None
    asked = settings._replace(environments=environments, gitops=said.gitops, sets=said.sets)
    why = unreadable(item, said, reader)
    for doc in docs:
        try:
            made = list(plans(doc, asked, reader))
        except RequestError as error:  # it has other environments or params now
            why = str(error).removeprefix(f"{doc.doc.name}: ")
            continue
        for plan in made:
            if plan.cr is not None and _same_name(plan.cr, item.doc):
                return plan
        why = why or next((_first_error(plan) for plan in made if plan.cr is None), "")
    return f"{said.file}, which this was rendered from, no longer renders it{f': {why}' if why else ''}"


def _first_error(plan: Plan) -> str:
    """What keeps a profile from being compiled; "" where nothing does."""
    for seen in plan.seen:
        if RULES[seen.problem.rule].severity is Severity.ERROR:
            from podplan.lint.redaction import redactor_for

            return redactor_for([plan.item.doc, plan.profile, seen.doc]).text(seen.problem.message)
    return ""


def _same_name(one: Doc, other: Doc) -> bool:
    return all(
        _part(one, *path) == _part(other, *path)
        for path in (("kind",), ("metadata", "name"), ("metadata", "namespace"))
    )


def _part(doc: Doc, *path: str) -> object:
    value = doc.data
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _first_difference(
    wanted: object, found: object, path: tuple[str | int, ...] = ()
) -> tuple[str | int, ...]:
    """The path in ``found`` where the two begin to differ."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in found:
            if key not in wanted or found[key] != wanted[key]:
                return _first_difference(wanted.get(key), found[key], (*path, key))
    elif isinstance(wanted, list) and isinstance(found, list):
        for index, (left, right) in enumerate(zip(wanted, found, strict=False)):
            if left != right:
                return _first_difference(left, right, (*path, index))
    return path
