"""Hugging Face libraries in offline mode whose cache is empty.

Sources: https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables,
https://huggingface.co/docs/transformers/installation#offline-mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, text
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import containers, init_containers
from podplan.lint.checks.outputs import Where, mount_of, named_values, trainings, volume_of
from podplan.lint.target import Hit, Subject

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
_TRUE = frozenset(("1", "on", "yes", "true"))
# The variable that counts, then those that it is made of, each with the path below it.
_OLD_CACHES = {"HF_DATASETS_OFFLINE": "HF_DATASETS_CACHE"}
_CACHES = (
    ("HF_HUB_CACHE", ""),
    ("HUGGINGFACE_HUB_CACHE", ""),
    ("HF_HOME", "/hub"),
    ("XDG_CACHE_HOME", "/huggingface/hub"),
    ("HOME", "/.cache/huggingface/hub"),
)
_ROOT_CACHE = "/root/.cache/huggingface/hub"
_OF_DATASETS = pattern(r"(?:\w+[_-])?datasets?(?:[_-](?:name|path|id|repo))?")
_OF_MODELS = pattern(
    r"(?:\w+[_-])?(?:model|tokenizer|processor|pretrained|base[_-]?model|teacher|student|reward[_-]?model)"
    r"(?:[_-](?:name|id|path|name[_-]or[_-]path|repo|model|name[_-]or[_-]path))*"
)
_HUB_ID = pattern(r"[A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*")
_LOCAL = pattern(
    r"(?:checkpoints?|ckpts?|models?|outputs?|output_dir|runs?|data|datasets?|configs?|conf|src|weights|pretrained)/.*",
)
_FILE = pattern(r".*\.(?:pth?|ckpt|safetensors|bin|ya?ml|json|jsonl|txt|py|csv|parquet|gguf)")
_ONLY_READS = frozenset(("ls", "du", "df", "mkdir", "echo", "chmod", "chown", "rm", "export", "set", "cd"))


def offline_without_cache(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Offline mode with an empty cache. Values: ``name``, ``cache``, ``volume``, ``id`` of a model."""
    for launch, where in trainings(subject.job):
        values = _variables(where.container)
        if any(entries(where.container, "envFrom")):
            continue
        offline = next((name for name in _OFFLINE if values.get(name, ("", 0))[0].lower() in _TRUE), None)
        if offline is None or any(name in ("cache_dir", "cache-dir") for name, _, _ in named_values(launch)):
            continue
        cache = _cache(values, _OLD_CACHES.get(offline, "TRANSFORMERS_CACHE"))
        found = mount_of(where.container, cache)
        if found is None:
            continue
        volume = text(found[1], "name")
        if "emptyDir" not in volume_of(where.group, volume) or _is_filled(
            where, volume, text(found[1], "mountPath")
        ):
            continue
        wanted = _OF_DATASETS if offline == "HF_DATASETS_OFFLINE" else _OF_MODELS
        for name, value, word in named_values(launch):
            if wanted.fullmatch(name) and _is_hub_id(value):
                shown = {"name": offline, "cache": cache, "volume": volume, "id": value}
                related = [
                    (launch.group.doc, launch.place(word), "is looked for in the cache"),
                    (
                        where.group.doc,
                        (*where.base, "volumeMounts", found[0], "mountPath"),
                        "the empty cache",
                    ),
                ]
                at = (*where.base, "env", values[offline][1], "value")
                yield Hit(at, shown, related, doc=where.group.doc, group=where.group)
                break


def _variables(container: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """The variables with a literal value, each with its index."""
    return {text(one, "name"): (text(one, "value"), at) for at, one in entries(container, "env")}


def _cache(values: Mapping[str, tuple[str, int]], older: str) -> str:
    """The folder where models are looked for; that of root where nothing says another."""
    for name, below in ((older, ""), *_CACHES):
        folder = values.get(name, ("", 0))[0]
        if folder:
            return normpath(folder + below) if folder.startswith("/") else ""
    return _ROOT_CACHE


def _is_filled(where: Where, volume: str, folder: str) -> bool:
    """Whether something may put files into a volume before the training looks for them."""
    others = [*init_containers(where.group), *containers(where.group)]
    is_shared = any(
        text(mount, "name") == volume
        for base, other in others
        if base != where.base
        for _, mount in entries(other, "volumeMounts")
    )
    return is_shared or any(
        process.name not in _ONLY_READS and _fills(process.words, folder)
        for command, process in programs_of(where.container)
        if command is not None
    )


def _fills(words: Any, folder: str) -> bool:
    listed = [word.text for word in words]
    return any("download" in word for word in listed) or any(
        word.startswith((folder, "$HF_"))
        for word in listed[1:]
        if listed[0] in ("cp", "rsync", "tar", "ln", "mv", "unzip")
    )


def _is_hub_id(value: str) -> bool:
    return (
        bool(_HUB_ID.fullmatch(value)) and not _LOCAL.fullmatch(value.lower()) and not _FILE.fullmatch(value)
    )
