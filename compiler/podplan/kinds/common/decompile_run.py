"""Command and args of a container as ``run`` of a profile; each takes them out of the container."""

from __future__ import annotations

from podplan.kinds.common.decompile import Fields, is_words


def from_command(container: Fields) -> Fields:
    """The command alone: a script or module under python, else a program."""
    command = container.get("command")
    if not is_words(command) or not command or "args" in container:
        return verbatim(container)
    del container["command"]
    if command[0] == "python" and len(command) > 1:
        return {"run": _module_or_script(command[1:])}
    return {"run": {"exec": command}}


def from_torchrun_args(container: Fields) -> Fields:
    """The args alone: torchrun takes script or module from them."""
    if not is_words(container.get("args")) or "command" in container:
        return verbatim(container)
    return {"run": _module_or_script(container.pop("args"))}


def verbatim(container: Fields) -> Fields:
    """Command and args as they are, where they are lists of strings; else they stay in the container."""
    written = {key: container[key] for key in ("command", "args") if key in container}
    if not written or not all(is_words(words) for words in written.values()):
        return {}
    for key in written:
        del container[key]
    return {"run": written}


def nothing(_: Fields) -> Fields:
    """For kinds whose controller brings its own command: what is written stays in the container."""
    return {}


def _module_or_script(words: list[str]) -> list[str] | Fields:
    return {"module": words[1:]} if words[:1] == ["-m"] and len(words) > 1 else words
