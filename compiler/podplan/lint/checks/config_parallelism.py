"""The sizes of parallelism in a configuration file that a script reads from a ConfigMap.

Source: https://docs.nvidia.com/megatron-core/, https://colossalai.org/docs/basics/booster_plugins/.
"""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import normpath

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.launchers.words import Word
from podplan.lint.analysis.mounted_scripts import find_mounted_key
from podplan.lint.analysis.process_worlds import ProcessWorld
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.target import LoweredJob

_MOST_TEXT = 20_000  # characters of a file that is read
_ENDINGS = (".json", ".yaml", ".yml", ".py", ".toml")
_SETTING = compile_lazily(r"(?<![\w.-])([a-z_]{2,40})[\"']?[ \t]*[:=][ \t]*(\d{1,4})(?![\w.])")
_COMMENT = compile_lazily(r"(?m)(?:^|[ \t])#.*$")
_NEEDED = ("tensor", "pipeline")  # a file with both is for the groups of a training


class ConfigSplit(NamedTuple):
    """A file with sizes of parallelism: the place of the largest, and the argument that names the file."""

    doc: TracedDocument
    path: Path
    sizes: dict[str, int]
    word: Word


def list_config_splits(
    job: LoweredJob, world: ProcessWorld, dimensions: Mapping[str, str]
) -> list[ConfigSplit]:
    """Return the files that a script reads with sizes of several dimensions, each given once."""
    splits = []
    for word in world.arguments:
        path = word.text.rpartition("=")[2]
        if not word.is_known or not path.startswith("/") or not path.endswith(_ENDINGS):
            continue
        found = _find_text(job, normpath(path))
        if found is None:
            continue
        doc, key, text = found
        sizes, span = _read_sizes(text, dimensions)
        if all(name in sizes for name in _NEEDED):
            splits.append(ConfigSplit(doc, TextPath(("data", key), span), sizes, word))
    return splits


def _find_text(job: LoweredJob, path: str) -> tuple[TracedDocument, str, str] | None:
    for group in job.pods:
        training = find_training_container(group)
        spec = get_mapping(group.doc.data, "spec")
        mounted = find_mounted_key(spec, training[1], path) if training is not None else None
        for reference in job.references.values() if mounted is not None else ():
            data = reference.doc.data
            name = get_text(get_mapping(data, "metadata"), "name")
            if mounted is not None and data.get("kind") == "ConfigMap" and name == mounted.config_map:
                return reference.doc, mounted.key, get_text(get_mapping(data, "data"), mounted.key)
    return None


def _read_sizes(text: str, dimensions: Mapping[str, str]) -> tuple[dict[str, int], tuple[int, int]]:
    """Return the sizes by their dimensions, and the place of the largest; none where one is given twice."""
    if len(text) > _MOST_TEXT:
        return {}, (0, 0)
    plain = _COMMENT.sub(lambda found: " " * len(found[0]), text)
    sizes: dict[str, int] = {}
    spans: dict[str, tuple[int, int]] = {}
    for found in _SETTING.finditer(plain):
        dimension = dimensions.get(found[1], "")
        if dimension in sizes:
            return {}, (0, 0)
        if dimension:
            sizes[dimension], spans[dimension] = int(found[2]), found.span()
    largest = max(sizes, key=lambda name: sizes[name], default="")
    return sizes, spans.get(largest, (0, 0))
