"""``run`` of a profile: what runs, and how it was said."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common import behaviors
from podplan.kinds.common.profile import join_words, prepend_words, stringify_list

RUN_FORMS = ("python", "module", "exec", "command")


class RunCommand(NamedTuple):
    """``form`` is python, module, exec, command (command and args as they are), or "" for nothing.

    ``words`` is the list that was written; for the form command it is the place of both.
    """

    form: str
    words: Cursor


def parse_run(
    run_cursor: Cursor, forms: tuple[str, ...], job_kind: str, diagnostics: list[Diagnostic]
) -> RunCommand:
    """How ``run`` was said, with a problem when the kind has no such form."""
    if isinstance(run_cursor.value, list) and "python" in forms:
        return RunCommand("python", run_cursor)
    written_forms = [form for form in ("python", "module", "exec") if run_cursor.get(form).exists]
    if isinstance(run_cursor.value, list):
        form, words = "python", run_cursor
    elif not written_forms:
        form, words = ("command", run_cursor) if run_cursor.fields() else ("", run_cursor)
    elif len(run_cursor.fields()) == 1:
        form, words = written_forms[0], run_cursor.get(written_forms[0])
    else:
        given_fields = join_words(list(run_cursor.fields()))
        message = f"run is one of python, module, exec, or command with args, not {given_fields}"
        diagnostics.append(Diagnostic("PROF021", message, run_cursor.path))
        return RunCommand("", run_cursor)
    if form and form not in forms:
        allowed_forms = join_words([f"run.{known}" for known in forms], "or")
        given_fields = (
            "run.args" if form == "command" and not run_cursor.get("command").exists else f"run.{form}"
        )
        diagnostics.append(
            Diagnostic(
                "PROF020",
                f"a {job_kind} has no use for {given_fields}; it has {allowed_forms}",
                run_cursor.path,
            )
        )
        return RunCommand("", run_cursor)
    return RunCommand(form, words)


def build_command(run_command: RunCommand) -> dict[str, Any]:
    """The whole as the command of a container, a script under python."""
    if run_command.form in ("python", "module"):
        return {"command": prepend_words(build_python_words(run_command), run_command.words)}
    if run_command.form == "exec":
        return {"command": stringify_list(run_command.words)}
    return copy_command_and_args(run_command)


def build_python_words(run_command: RunCommand) -> list[Any]:
    """What stands before a script or a module: the interpreter, and -m."""
    return [
        attribute_to((behaviors.RUN_PYTHON, run_command.words), "python"),
        *build_module_option(run_command),
    ]


def build_module_option(run_command: RunCommand) -> list[Any]:
    """The word before a module; none before a script."""
    return (
        [attribute_to((behaviors.RUN_MODULE, run_command.words), "-m")]
        if run_command.form == "module"
        else []
    )


def copy_command_and_args(run_command: RunCommand) -> dict[str, Any]:
    """``command`` and ``args`` as they are written; nothing for no run."""
    if run_command.form != "command":
        return {}
    cursors = {key: run_command.words.get(key) for key in ("command", "args")}
    return {key: stringify_list(place) for key, place in cursors.items() if place.exists}
