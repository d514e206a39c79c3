"""Command and args of a container as ``run`` of a profile; each function removes them from the container."""

from __future__ import annotations

from podplan.kinds.common.decompile import Fields, as_mapping, is_string_list


def decompile_command(container: Fields) -> Fields:
    """Return ``run`` from the command alone: a script or a module under python, else a program."""
    command = container.get("command")
    if not is_string_list(command) or not command or "args" in container:
        return decompile_verbatim(container)
    del container["command"]
    if command[0] == "python" and len(command) > 1:
        return {"run": _split_module_or_script(command[1:])}
    return {"run": {"exec": command}}


def decompile_torchrun_args(container: Fields) -> Fields:
    """Return ``run`` from the args alone, from which torchrun takes its script or module."""
    if not is_string_list(container.get("args")) or "command" in container:
        return decompile_verbatim(container)
    return {"run": _split_module_or_script(container.pop("args"))}


def decompile_verbatim(container: Fields) -> Fields:
    """Return command and args unchanged if they are lists of strings; else they stay in the container."""
    command_fields = {key: container[key] for key in ("command", "args") if key in container}
    if not command_fields or not all(is_string_list(words) for words in command_fields.values()):
        return {}
    for key in command_fields:
        del container[key]
    return {"run": command_fields}


def decompile_nothing(_: Fields) -> Fields:
    """Return nothing, for kinds whose controller sets the command: what is written stays in the container."""
    return {}


def runs_torchrun(role: Fields) -> bool:
    """Whether the ``run`` of a role is torchrun without options of its own."""
    words = as_mapping(role.get("run")).get("exec")
    return isinstance(words, list) and words[:1] == ["torchrun"] and decompile_program(words[1:]) is not None


def remove_torchrun(role: Fields) -> None:
    """Replace such a ``run`` by what torchrun starts."""
    role["run"] = decompile_program(role["run"]["exec"][1:])


def decompile_program(words: list[str]) -> list[str] | Fields | None:
    """Return ``run`` for what follows the options of torchrun; None if more options do."""
    if words[:1] in (["-m"], ["--no-python"]) and len(words) > 1 and words[1][:1] != "-":
        return {"module" if words[0] == "-m" else "exec": words[1:]}
    return words if words and words[0][:1] != "-" else None


def _split_module_or_script(words: list[str]) -> list[str] | Fields:
    return {"module": words[1:]} if words[:1] == ["-m"] and len(words) > 1 else words
