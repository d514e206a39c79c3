"""References such as ``$(rank)`` in a shell script of a ConfigMap, where nothing replaces them.

Sources: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
(command, args and env), docs/evidence/t9k-genericjob.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Path, TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled
from podplan.lint.analysis.mounted_scripts import MOST_TEXT, find_mounted_scripts
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_REFERENCE = compile_lazily(
    r"(?<![\\$])\$\((?:(?P<name>[A-Za-z_]\w*)"
    r"|replicas\[[\w-]+\]|service\.[\w-]+\[[\w-]+\]\.host|service\.port\[[\w-]+\])\)"
)
_OF_CONTROLLER = ("rank", "type")


class ScriptFile(NamedTuple):
    """A script of a ConfigMap that a container runs: the document, the path of its text, and the text.

    ``variables`` are those of the container.
    """

    doc: TracedDocument
    path: Path
    text: str
    variables: frozenset[str]


@check(requires=("configMap",))
def reference_in_file(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A reference in a file, which the shell takes for a command. Values: ``reference``, ``file``, ``who``,
    ``command``."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    is_replaced = has_trait(job, "env-expressions")
    seen: set[Path] = set()
    for file in _iter_script_files(job):
        for found in _REFERENCE.finditer(file.text):
            name = found["name"]
            is_of_controller = is_replaced and (name is None or name in _OF_CONTROLLER)
            is_variable = name is not None and name.isupper() and name in file.variables
            if not (is_of_controller or is_variable) or not _is_substituted(file.text, found.start()):
                continue
            if name is not None and _defines(file.text, name):
                continue
            place = TextPath(file.path, found.span())
            if tuple(place) in seen:
                break
            seen.add(tuple(place))
            values = {
                "reference": found[0],
                "file": str(file.path[-1]),
                "who": "the controller" if is_of_controller else "Kubernetes",
                "command": found[0][2:-1],
            }
            yield Violation(place, values, doc=file.doc)
            break


def _iter_script_files(job: LoweredJob) -> Iterator[ScriptFile]:
    """Yield the shell scripts that containers run from ConfigMaps."""
    config_maps = [one.doc for one in job.references.values() if one.doc.data.get("kind") == "ConfigMap"]
    if not config_maps:
        return
    texts = {
        text: (doc, ("data", key))
        for doc in config_maps
        for key, text in get_mapping(doc.data, "data").items()
        if isinstance(text, str) and "$(" in text and len(text) <= MOST_TEXT
    }
    for group in job.pods:
        for _, container in (*list_init_containers(group), *list_containers(group)):
            names = frozenset(get_text(one, "name") for _, one in get_entries(container, "env"))
            # The text stands in the command, where the shell reads it.
            for key in ("command", "args"):
                for _, text in get_texts(container, key):
                    if text in texts:
                        yield ScriptFile(*texts[text], text, names)
        for script in find_mounted_scripts(group.doc.data):
            container = group.doc.data[script.place[0]][script.place[1]][script.place[2]]
            names = frozenset(get_text(one, "name") for _, one in get_entries(container, "env"))
            for doc in config_maps:
                if get_text(get_mapping(doc.data, "metadata"), "name") == script.mounted.config_map:
                    text = get_text(get_mapping(doc.data, "data"), script.mounted.key)
                    if text in texts:
                        path: Path = ("data", script.mounted.key)
                        yield ScriptFile(doc, path, text, names)


def _is_substituted(text: str, at: int) -> bool:
    """Whether the shell runs what stands at an offset: not in a comment, single quotes or a here-document."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    is_quoted = text.count("'", 0, at) % 2 == 1 or "<<" in text[:at]
    return not is_quoted and "#" not in line


def _defines(text: str, name: str) -> bool:
    """Whether a script defines a function or an alias of a name."""
    return (
        f"{name}()" in text or f"{name} ()" in text or f"function {name}" in text or f"alias {name}=" in text
    )
