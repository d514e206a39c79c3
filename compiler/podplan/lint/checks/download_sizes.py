"""Models that are downloaded into a volume which is smaller than their weights.

Sources: https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables,
https://kubernetes.io/docs/concepts/storage/volumes/#emptydir (a Pod above sizeLimit is evicted).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.kubernetes import quantities
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.resources import format_amount
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.offloading import find_model
from podplan.lint.checks.outputs import ContainerPath, mount_of, trainings
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_BYTES = 2  # of a parameter in half precision, as models are published
_OF_HUB = compile_lazily(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_SMALLER = compile_lazily(r"gptq|awq|gguf|ggml|int[48]|[48]-?bit|fp8|nf4|bnb|w[48]a|q[2-8]_|exl2|mlx")
_CACHES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "TRANSFORMERS_CACHE", "MODELSCOPE_CACHE")
_CACHE_OPTIONS = frozenset(("cache_dir", "model_cache_dir", "download_dir", "hf_cache_dir"))
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@check()
def model_beyond_volume(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A model above the volume of its cache. Values: ``model``, ``needs``, ``path``, ``size``."""
    for launch, where in trainings(target.job):
        options = list(list_program_options(target.job, launch))
        model, billions = find_model(options)
        if model is None or launch.invocation.is_conditional or _is_offline(where):
            continue
        name = model.option.value or ""
        if not _OF_HUB.fullmatch(name) or _SMALLER.search(name.lower()):
            continue
        caches: list[tuple[str, TracedDocument, Path]] = [
            (placed.option.value or "", placed.doc, placed.path)
            for placed in options
            if placed.option.last in _CACHE_OPTIONS
        ]
        for path, doc, place in caches or _iter_cache_variables(where):
            volume = _find_small_volume(where, normpath(path), int(billions * _BYTES * 1e9))
            if volume is not None:
                size, volume_path = volume
                values = {
                    "model": name,
                    "needs": format_amount(int(billions * _BYTES * 1e9) * quantities.UNITS_PER_ONE, "memory"),
                    "path": path,
                    "size": format_amount(size, "memory"),
                }
                related = [(doc, place, "the cache"), (model.doc, model.path, "the model")]
                yield Violation(volume_path, values, related, doc=where.group.doc, group=where.group)
            break


def _is_offline(where: ContainerPath) -> bool:
    return any(
        get_text(entry, "name") in _OFFLINE and get_text(entry, "value").lower() in ("1", "true", "yes", "on")
        for _, entry in get_entries(where.container, "env")
    )


def _iter_cache_variables(where: ContainerPath) -> Iterator[tuple[str, TracedDocument, Path]]:
    """Yield the download folders that variables name, the one with precedence first."""
    entries = {get_text(entry, "name"): (at, entry) for at, entry in get_entries(where.container, "env")}
    for name in _CACHES:
        if name in entries:
            at, entry = entries[name]
            yield get_text(entry, "value"), where.group.doc, (*where.base, "env", at, "value")


def _find_small_volume(where: ContainerPath, path: str, needs: int) -> tuple[int, Path] | None:
    """Return the sizeLimit of the emptyDir with a path, and its path, if it is below a number of bytes."""
    mount = mount_of(where.container, path)
    if mount is None:
        return None
    for at, volume in get_entries(get_mapping(where.group.doc.data, "spec"), "volumes"):
        if get_text(volume, "name") == get_text(mount[1], "name"):
            size = quantities.parse_quantity(get_mapping(volume, "emptyDir").get("sizeLimit"))
            if size is not None and size < needs * quantities.UNITS_PER_ONE:
                return size, ("spec", "volumes", at, "emptyDir", "sizeLimit")
    return None
