"""Shell scripts that a container runs from a mounted ConfigMap, read as if they stood in its command.

``bash /scripts/run.sh`` does the same as ``bash -c TEXT /scripts/run.sh``, so a Pod with the text in its
command is checked by all rules about commands. The text has the key of the ConfigMap as its origin.

Source: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/sh.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from posixpath import normpath

from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import DocumentPath, Origin, Path, TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.wrappers import SHELL_PROGRAMS

MOST_TEXT = 50_000  # longest script that is read, in characters
_EXECUTABLE = 0o111
_DEFAULT_MODE = 0o644
_PIPELINE_SIZES = ("pipeline_model_parallel_size", "pipeline_parallel_size", "pp_size")
# What the kubelet could expand in a command, but not in a file.
_EXPANDED = compile_lazily(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SHEBANG = compile_lazily(r"#![ \t]*(?:/usr/bin/env[ \t]+)?(?:/[\w/]+/)?(bash|sh|dash|ash)[ \t]*\n")
_ONLY_SCRIPT = compile_lazily(r"\s*(?:exec\s+)?(?:(?:/(?:usr/)?bin/)?(bash|sh)\s+)?(/[\w./@+-]+)\s*")


class MountedKey(NamedTuple):
    """A key of a ConfigMap that is a file of a container; ``volume`` is the index of its volume."""

    config_map: str
    key: str
    volume: int
    mode: int


class MountedScript(NamedTuple):
    """A script in the words of a container, to be replaced by its text.

    ``place`` is the word with its path. ``is_whole`` if that is the string of a shell, whose word is at
    ``outer``; ``is_program`` if it is executed without a shell, else ``shell`` may name that.
    """

    place: Path
    mounted: MountedKey
    is_whole: bool
    is_program: bool
    shell: str = ""
    outer: Path = ()


def find_mounted_key(spec: Mapping[str, Any], container: Mapping[str, Any], path: str) -> MountedKey | None:
    """Return the key of a ConfigMap that is mounted as a file at a path."""
    for _, mount in get_entries(container, "volumeMounts"):
        at = normpath(get_text(mount, "mountPath") or "/")
        number, volume = next(
            ((n, one) for n, one in get_entries(spec, "volumes") if one.get("name") == mount.get("name")),
            (0, {}),
        )
        source = get_mapping(volume, "configMap")
        inside = get_text(mount, "subPath") if path == at else path.removeprefix(f"{at}/")
        if not source or not inside or (path != at and not path.startswith(f"{at}/")):
            continue
        if path != at and "subPath" in mount:
            continue
        items = {get_text(item, "path"): item for _, item in get_entries(source, "items")}
        item = items.get(inside, {})
        key = get_text(item, "key") if items else inside
        mode = item.get("mode", source.get("defaultMode", _DEFAULT_MODE))
        if not key:
            return None
        return MountedKey(get_text(source, "name"), key, number, mode if isinstance(mode, int) else 0)
    return None


def find_mounted_scripts(pod: Any) -> Iterator[MountedScript]:
    """Yield the scripts of ConfigMaps that the containers of a Pod run."""
    spec = get_mapping(pod, "spec")
    if not any("configMap" in volume for _, volume in get_entries(spec, "volumes")):
        return
    for field in ("initContainers", "containers"):
        for number, container in get_entries(spec, field):
            words: list[tuple[str, Path]] = [
                (text, (key, at))
                for key in ("command", "args")
                for at, text in enumerate(_get_list(container, key))
                if isinstance(text, str)
            ]
            if not container.get("command") or not words:
                continue
            found = _find_script_word(words)
            if found is None:
                continue
            mounted = find_mounted_key(spec, container, normpath(found.path))
            if mounted is not None and not (found.is_program and not mounted.mode & _EXECUTABLE):
                base: Path = ("spec", field, number)
                yield MountedScript(
                    (*base, *found.place),
                    mounted,
                    found.outer is not None,
                    found.is_program,
                    found.shell,
                    (*base, *(found.outer or ())),
                )


def _get_list(container: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = container.get(key)
    return value if isinstance(value, list) else ()


class _ScriptWord(NamedTuple):
    """The path of a script in a word at ``place``, and the shell that runs it if the line states one.

    ``outer`` is the word of the shell whose whole string the path is, if there is one.
    """

    path: str
    place: Path
    is_program: bool
    shell: str = ""
    outer: Path | None = None


def _find_script_word(words: list[tuple[str, Path]]) -> _ScriptWord | None:
    """Return the script that the words of a container run."""
    texts = [text for text, _ in words]
    shell = next((at for at, text in enumerate(texts) if text.rpartition("/")[2] in SHELL_PROGRAMS), None)
    if shell is None:
        return _ScriptWord(texts[0], words[0][1], True) if texts[0].startswith("/") else None
    index, takes_string = shell + 1, False
    while index < len(texts) and texts[index][:1] in ("-", "+") and len(texts[index]) > 1:
        option = texts[index]
        index += 1
        if not option.startswith("--"):
            takes_string = takes_string or "c" in option[1:]
            index += option[1:].count("o") + option[1:].count("O")
    if index >= len(texts):
        return None
    text, place = words[index]
    if not takes_string:
        return _ScriptWord(text, place, False) if text.startswith("/") else None
    only = _ONLY_SCRIPT.fullmatch(text) if len(text) < 500 else None
    return _ScriptWord(only[2], place, only[1] is None, only[1] or "", words[shell][1]) if only else None


def inline_scripts(
    group: ReplicaGroup, find_config_map: Callable[[str], TracedDocument | None]
) -> tuple[ReplicaGroup, list[tuple[MountedScript, TracedDocument]]]:
    """Return Pods with the text of their mounted scripts in their commands, and the scripts with the
    ConfigMaps that contain them, also of those that the kubelet would change in a command."""
    inlined: list[tuple[MountedScript, TracedDocument]] = []
    expanded: list[tuple[MountedScript, TracedDocument]] = []
    doc = group.doc
    for script in find_mounted_scripts(doc.data):
        config_map = find_config_map(script.mounted.config_map)
        text = (
            get_text(get_mapping(config_map.data, "data"), script.mounted.key)
            if config_map is not None
            else ""
        )
        if config_map is None or not text or len(text) > MOST_TEXT:
            continue
        if _is_expanded(doc.data, script, text):
            expanded.append((script, config_map))
            continue
        shebang = _SHEBANG.match(text)
        if script.is_program and shebang is None:
            continue
        shell = shebang[1] if script.is_program and shebang is not None else script.shell
        doc = _replace_script(
            doc, script, DocumentPath(config_map, ("data", script.mounted.key)), text, shell
        )
        inlined.append((script, config_map))
    return (group._replace(doc=doc) if inlined else group), [*inlined, *expanded]


def list_configuration_volumes(group: ReplicaGroup) -> Iterator[tuple[Path, str]]:
    """Yield the ConfigMaps that a container with accelerate mounts, with the paths of their names in the Pod.

    One of them may contain its configuration.
    """
    spec = get_mapping(group.doc.data, "spec")
    for _, container in get_entries(spec, "containers"):
        words = [text for key in ("command", "args") for text in _get_list(container, key)]
        line = " ".join(text for text in words if isinstance(text, str))
        if "accelerate" not in line or "config_file" not in line.replace("-", "_"):
            continue
        mounted = {get_text(mount, "name") for _, mount in get_entries(container, "volumeMounts")}
        for number, volume in get_entries(spec, "volumes"):
            name = get_text(get_mapping(volume, "configMap"), "name")
            if name and get_text(volume, "name") in mounted:
                yield ("spec", "volumes", number, "configMap", "name"), name


def list_python_volumes(groups: Sequence[ReplicaGroup]) -> Iterator[tuple[ReplicaGroup, Path, str]]:
    """Yield the ConfigMaps that Pods mount, in which a Python script that a Pod starts may be, with the paths
    of their names in the Pod."""
    pods = [group for group in groups if group.doc.data["kind"] == "Pod"]
    if not any(map(_names_python, pods)):
        return
    for group in pods:
        spec = get_mapping(group.doc.data, "spec")
        mounted = {
            get_text(mount, "name")
            for _, container in get_entries(spec, "containers")
            for _, mount in get_entries(container, "volumeMounts")
        }
        for number, volume in get_entries(spec, "volumes"):
            name = get_text(get_mapping(volume, "configMap"), "name")
            if name and get_text(volume, "name") in mounted:
                yield group, ("spec", "volumes", number, "configMap", "name"), name


def has_python(config_map: TracedDocument) -> bool:
    """Whether a ConfigMap has a Python script."""
    return any(isinstance(key, str) and key.endswith(".py") for key in get_mapping(config_map.data, "data"))


def has_parallelism(config_map: TracedDocument) -> bool:
    """Whether a ConfigMap has a file that splits the processes of a training into a pipeline."""
    texts = get_mapping(config_map.data, "data").values()
    return any(name in text for text in texts if isinstance(text, str) for name in _PIPELINE_SIZES)


def _names_python(group: ReplicaGroup) -> bool:
    spec = get_mapping(group.doc.data, "spec")
    return any(
        isinstance(text, str) and ".py" in text
        for _, container in get_entries(spec, "containers")
        for key in ("command", "args")
        for text in _get_list(container, key)
    )


def _is_expanded(pod: Any, script: MountedScript, text: str) -> bool:
    """Whether the kubelet would change a script if it stood in the command."""
    container = _value_at(pod, script.place[:3])
    names = {get_text(entry, "name") for _, entry in get_entries(container, "env")}
    return any(
        found[0] == "$$" or found[1] in names or bool(container.get("envFrom"))
        for found in _EXPANDED.finditer(text)
    )


def _replace_script(
    doc: TracedDocument, script: MountedScript, place: DocumentPath, text: str, shell: str
) -> TracedDocument:
    """Return a Pod with the text of a script instead of its path, or as ``-c TEXT`` before it.

    A ``shell`` is that which runs the script, if another program starts it.
    """
    *list_path, at = script.place
    assert isinstance(at, int)
    base: Path = tuple(list_path)
    added = [] if script.is_whole else [*([shell] if shell else []), "-c", text]
    origins: dict[Path, Origin] = {(): Origin("copied", (DocumentPath(doc, ()),))}
    words = _value_at(doc.data, base)
    moved = range(at, len(words))
    if script.is_whole:
        new_words = [*words[:at], text, *words[at + 1 :]]
        origins[*base, at] = Origin("copied", (place,))
    else:
        # The path is $0, which only a script that reads it needs.
        zeroth = words[at] if "$0" in text or "${0" in text else "bash"
        new_words = [*words[:at], *added, zeroth, *words[at + 1 :]]
        for number in range(len(added) - 1):
            origins[*base, at + number] = Origin("because", (DocumentPath(doc, script.place),))
        origins[*base, at + len(added) - 1] = Origin("copied", (place,))
        for number in moved:
            origins[*base, number + len(added)] = Origin("copied", (DocumentPath(doc, (*base, number)),))
    shift = len(added)
    replica_texts = {
        shift_path(path, base, at, shift): value
        for path, value in doc.replica_texts.items()
        if not (script.is_whole and path == script.place)
    }
    data = with_value(doc.data, base, new_words)
    if script.is_whole and str(_value_at(data, script.outer)).rpartition("/")[2] != shell:
        data = with_value(data, script.outer, shell)
    return TracedDocument(doc.name, data, origins=origins, replica_texts=replica_texts)


def find_lowered_path(doc: TracedDocument, path: Path) -> Path:
    """Return a path in a Pod with scripts and variables of ConfigMaps as a path in the Pod without them."""
    whole = doc.origins.get(())
    original = whole.sources[0].doc if whole is not None and whole.sources else None
    if original is None or original.name != doc.name:
        return path
    depth = next(
        (at + 2 for at, step in enumerate(path) if step in ("command", "args", "env")), len(path) + 1
    )
    own, word = doc.origins.get(tuple(path[:depth])), path[depth - 1] if depth <= len(path) else None
    if own is not None and own.derivation == "because" and "env" in path:
        return find_lowered_path(original, own.sources[0].path)  # a variable of envFrom
    if own is not None and own.sources[0].doc is not original and isinstance(word, int):
        # The text of a script, behind -c, which is there because of the word with the path.
        own = doc.origins.get((*path[: depth - 1], word - 1))
    if own is None or own.sources[0].doc is not original:
        return find_lowered_path(original, path)
    return find_lowered_path(original, (*own.sources[0].path, *path[depth:]))


def shift_path(path: Path, base: Path, at: int, shift: int) -> Path:
    """Return the path of a word behind those that were added."""
    depth = len(base)
    if len(path) <= depth or path[:depth] != base:
        return path
    number = path[depth]
    return (*base, number + shift, *path[depth + 1 :]) if isinstance(number, int) and number >= at else path


def _value_at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def with_value(value: Any, path: Path, new: Any) -> Any:
    """Return a copy of a value with another one at a path."""
    if not path:
        return new
    changed = with_value(value[path[0]], path[1:], new)
    if isinstance(value, dict):
        return {**value, path[0]: changed}
    return [changed if number == path[0] else one for number, one in enumerate(value)]
