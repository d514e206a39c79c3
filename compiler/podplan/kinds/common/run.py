"""``run`` of a profile: the command to run, and in which form it is written."""

from __future__ import annotations

from collections.abc import Sequence

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, Traced, attribute_to
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import add_article, join_words
from podplan.kinds.common import behaviors
from podplan.kinds.common.profile import prepend_words, stringify_list

RUN_FORMS = ("python", "module", "exec", "command")


class RunCommand(NamedTuple):
    """The parsed ``run``; ``form`` is python, module, exec, command (command and args), or "" for none.

    ``words`` is the list that is written; for the form command it is the cursor of both fields.
    """

    form: str
    words: Cursor


def parse_run(
    run_cursor: Cursor, forms: tuple[str, ...], job_kind: str, diagnostics: list[Diagnostic]
) -> RunCommand:
    """Parse ``run``; add a diagnostic if the kind does not support the form."""
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
                f"{add_article(job_kind)} has no use for {given_fields}; it has {allowed_forms}",
                run_cursor.path,
            )
        )
        return RunCommand("", run_cursor)
    return RunCommand(form, words)


def build_command(run_command: RunCommand) -> dict[str, Any]:
    """Return the complete command of a container, with python for a script or a module."""
    if run_command.form in ("python", "module"):
        return {"command": prepend_words(build_python_words(run_command), run_command.words)}
    if run_command.form == "exec":
        return {"command": stringify_list(run_command.words)}
    return copy_command_and_args(run_command)


def build_python_words(run_command: RunCommand) -> list[Any]:
    """Return the words before a script or a module: the interpreter, and -m."""
    return [
        attribute_to((behaviors.RUN_PYTHON, run_command.words), "python"),
        *build_module_option(run_command),
    ]


def build_module_option(run_command: RunCommand) -> list[Any]:
    """Return the option before a module; empty for a script."""
    return (
        [attribute_to((behaviors.RUN_MODULE, run_command.words), "-m")]
        if run_command.form == "module"
        else []
    )


def copy_command_and_args(run_command: RunCommand) -> dict[str, Any]:
    """Return ``command`` and ``args`` as written; empty without ``run``."""
    if run_command.form != "command":
        return {}
    cursors = {key: run_command.words.get(key) for key in ("command", "args")}
    return {key: stringify_list(place) for key, place in cursors.items() if place.exists}


def build_torchrun_command(
    spec: Cursor, run_command: RunCommand, options: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return torchrun with ``options`` and those of the profile before a script, a module or a program.

    A command that is written with its args stays as it is.
    """
    if run_command.form not in ("python", "module", "exec"):
        return build_command(run_command)
    launcher, more_options = spec.get("launcher"), spec.get("torchrun", "extraOptions")
    words: list[Any] = [attribute_to(launcher, "torchrun"), *options, *_list_words(more_options)]
    if run_command.form == "exec":
        words.append(attribute_to((behaviors.TORCHRUN_PROGRAM, run_command.words), "--no-python"))
    return {"command": prepend_words([*words, *build_module_option(run_command)], run_command.words)}


def _list_words(cursor: Cursor) -> list[Any]:
    """Return the words of a list, its scalars as strings."""
    words = stringify_list(cursor) if cursor.exists else None
    if words is None:
        return []
    return words.value if isinstance(words, Traced) else cursor.entries()
