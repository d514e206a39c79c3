"""Caches of libraries on a root file system that is read-only.

Sources: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/,
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables,
https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html (TORCHINDUCTOR_CACHE_DIR),
https://github.com/triton-lang/triton/blob/main/python/triton/knobs.py (TRITON_CACHE_DIR).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.words import Word
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.checks.offline_hub import HUB_CACHES, OFFLINE, TRUE, find_hub_id
from podplan.lint.checks.outputs import mount_of, named_values, trainings
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Folders for what is compiled while the training runs.
_ALWAYS_WRITTEN = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR")


@check(requires=("readOnlyRootFilesystem",))
def cache_on_read_only_root(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A cache where nothing can be written. Values: ``name``, ``path``, ``container``."""
    reported: set[tuple[int, Path]] = set()
    for launch, where in trainings(target.job):
        context = get_mapping(where.container, "securityContext")
        if context.get("readOnlyRootFilesystem") is not True:
            continue
        field: Path = (*where.base, "securityContext", "readOnlyRootFilesystem")
        for name, place, word in _list_written_caches(launch, where.container):
            path = get_text(place[1], "value")
            at: Path = (*where.base, "env", place[0], "value")
            is_mounted = (
                mount_of(where.container, normpath(path)) is not None if path.startswith("/") else True
            )
            if is_mounted or (id(where.group), at) in reported:
                continue
            reported.add((id(where.group), at))
            values = {"name": name, "path": path, "container": get_text(where.container, "name")}
            related = [(where.group.doc, field, "the file system is read-only")]
            if word is not None:
                related.append((launch.group.doc, launch.locate_word(word), "is downloaded into the cache"))
            yield Violation(at, values, related, doc=where.group.doc, group=where.group)


def _list_written_caches(
    launch: ContainerLaunch, container: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[int, Mapping[str, Any]], Word | None]]:
    """The variables of caches that a training writes: each with its entry, and what it downloads."""
    entries = {get_text(entry, "name"): (at, entry) for at, entry in get_entries(container, "env")}
    for name in _ALWAYS_WRITTEN:
        if name in entries:
            yield name, entries[name], None
    is_offline = any(
        get_text(entries[name][1], "value").lower() in TRUE for name in OFFLINE if name in entries
    )
    has_option = any(name.replace("-", "_") == "cache_dir" for name, _, _ in named_values(launch))
    wanted = find_hub_id(launch)
    cache = next((name for name in HUB_CACHES if name in entries), None)
    if (
        cache is not None
        and wanted is not None
        and not (is_offline or has_option or container.get("envFrom"))
    ):
        yield cache, entries[cache], wanted
