"""Internal errors: one in a document ends the check of that document, and becomes a finding there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podplan.checker.run_state import CheckRun
from podplan.core.builtin_rules import INTERNAL_ERROR_RULE, build_file_finding
from podplan.core.errors import UsageError, describe_internal_error
from podplan.core.findings import Finding, Location
from podplan.core.limits import LimitExceeded, RunTimeout
from podplan.core.provenance import TracedDocument
from podplan.lint.location import locate
from podplan.workspace.files import OutsideRoot, PathNotFound

# What ends a run on purpose, or for a reason outside podplan.
_OTHER_REASONS = (
    *(UsageError, PathNotFound, OutsideRoot, LimitExceeded, RunTimeout),
    *(OSError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit),
)
_HELP = "please report it together with the file; what else is reported of this file may be incomplete"


def iter_until_internal_error(
    findings: Iterable[Finding], run: CheckRun, file: str, doc: TracedDocument | None = None
) -> Iterator[Finding]:
    """Yield findings until an internal error, which becomes a finding at the start of the document or file.

    A panic of a library in Rust is a BaseException.
    """
    try:
        yield from findings
    except _OTHER_REASONS:
        raise
    except BaseException as error:
        run.unlowered_files.add(file)
        line = locate(doc, ()).location.line if doc is not None else 1
        location = Location(file, line, 1, line, 1, ())
        message = f"podplan itself failed here, so this is not checked: {describe_internal_error(error)}"
        yield build_file_finding(INTERNAL_ERROR_RULE, message, location, _HELP)
