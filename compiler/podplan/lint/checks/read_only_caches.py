"""Caches of libraries where their container cannot write.

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
from podplan.lint.checks.outputs import ContainerPath, mount_of, named_values, trainings
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Folders for what is compiled while the training runs.
_ALWAYS_WRITTEN = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR")
_CACHES = frozenset(
    (*_ALWAYS_WRITTEN, *HUB_CACHES, "TORCH_HOME", "XDG_CACHE_HOME", "HOME", "MPLCONFIGDIR", "WANDB_DIR")
)


@check()
def cache_on_read_only_root(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A cache where nothing can be written. Values: ``name``, ``path``, ``why``."""
    reported: set[tuple[int, Path]] = set()
    for launch, where in trainings(target.job):
        yield from _find_caches_of_root(where, reported)
        context = get_mapping(where.container, "securityContext")
        is_read_only = context.get("readOnlyRootFilesystem") is True
        field: Path = (*where.base, "securityContext", "readOnlyRootFilesystem")
        for name, entry, word in _list_written_caches(launch, where.container):
            path = get_text(entry[1], "value")
            at: Path = (*where.base, "env", entry[0], "value")
            mount = mount_of(where.container, normpath(path))
            is_lost = is_read_only if mount is None else mount[1].get("readOnly") is True
            if not is_lost or not path.startswith("/") or (id(where.group), at) in reported:
                continue
            reported.add((id(where.group), at))
            place, label = field, "the file system is read-only"
            why = "is on no volume, but the file system of the container"
            if mount is not None:
                place, label = (*where.base, "volumeMounts", mount[0], "readOnly"), "the mount is read-only"
                why = f"is below {get_text(mount[1], 'mountPath')}, and its mount in the container"
            values = {
                "name": name,
                "path": path,
                "why": f'{why} "{get_text(where.container, "name")}" is read-only',
            }
            related = [(where.group.doc, place, label)]
            if word is not None:
                related.append((launch.group.doc, launch.locate_word(word), "is downloaded into the cache"))
            yield Violation(at, values, related, doc=where.group.doc, group=where.group)


def _find_caches_of_root(where: ContainerPath, reported: set[tuple[int, Path]]) -> Iterator[Violation]:
    """Find caches in the home of root, which another user can neither write nor read."""
    own = get_mapping(where.container, "securityContext")
    of_pod = get_mapping(get_mapping(where.group.doc.data, "spec"), "securityContext")
    user = own.get("runAsUser", of_pod.get("runAsUser"))
    if not isinstance(user, int) or user == 0:
        return
    field: Path = (*where.base, "securityContext") if "runAsUser" in own else ("spec", "securityContext")
    for number, entry in get_entries(where.container, "env"):
        name, path = get_text(entry, "name"), normpath(get_text(entry, "value"))
        at: Path = (*where.base, "env", number, "value")
        is_of_root = f"{path}/".startswith("/root/") and mount_of(where.container, path) is None
        if is_of_root and name in _CACHES and (id(where.group), at) not in reported:
            reported.add((id(where.group), at))
            values = {
                "name": name,
                "path": path,
                "why": f"is in the home of root, but the container runs as user {user}",
            }
            related = [(where.group.doc, (*field, "runAsUser"), "the user")]
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
