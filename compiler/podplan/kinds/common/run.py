"""``run`` of a profile: what runs, and how it was said."""

from __future__ import annotations

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, at
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.profile import enumeration, strings, with_first
from podplan.kinds.t9k import behaviors

FORMS = ("python", "module", "exec", "command")


class Run(NamedTuple):
    """``form`` is python, module, exec, command (command and args as they are), or "" for nothing.

    ``words`` is the list that was written; for the form command it is the place of both.
    """

    form: str
    words: Cursor


def run(place: Cursor, forms: tuple[str, ...], job: str, problems: list[Problem]) -> Run:
    """How ``run`` was said, with a problem when the kind has no such form."""
    if isinstance(place.value, list):
        return Run("python", place)
    written = [form for form in ("python", "module", "exec") if place.get(form).exists]
    if not written:
        form, words = ("command", place) if place.fields() else ("", place)
    elif len(place.fields()) == 1:
        form, words = written[0], place.get(written[0])
    else:
        said = enumeration(list(place.fields()))
        message = f"run is one of python, module, exec, or command with args, not {said}"
        problems.append(Problem("PROF021", message, place.path))
        return Run("", place)
    if form and form not in forms:
        listed = enumeration([f"run.{known}" for known in forms], "or")
        said = "run.args" if form == "command" and not place.get("command").exists else f"run.{form}"
        problems.append(Problem("PROF020", f"a {job} has no use for {said}; it has {listed}", place.path))
        return Run("", place)
    return Run(form, words)


def as_command(said: Run) -> dict[str, Any]:
    """The whole as the command of a container, a script under python."""
    if said.form in ("python", "module"):
        return {"command": with_first(python(said), said.words)}
    if said.form == "exec":
        return {"command": strings(said.words)}
    return verbatim(said)


def python(said: Run) -> list[Any]:
    """What stands before a script or a module: the interpreter, and -m."""
    return [at((behaviors.RUN_PYTHON, said.words), "python"), *minus_m(said)]


def minus_m(said: Run) -> list[Any]:
    """The word before a module; none before a script."""
    return [at((behaviors.RUN_MODULE, said.words), "-m")] if said.form == "module" else []


def verbatim(said: Run) -> dict[str, Any]:
    """``command`` and ``args`` as they are written; nothing for no run."""
    if said.form != "command":
        return {}
    places = {key: said.words.get(key) for key in ("command", "args")}
    return {key: strings(place) for key, place in places.items() if place.exists}
