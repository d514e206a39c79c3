"""Mounts over folders of the image that its programs need.

Source: https://kubernetes.io/docs/concepts/storage/volumes/ (a mount hides what the image has at its path).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_SYSTEM_TEXT = """
    / /bin /sbin /lib /lib64 /usr /usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/local
    /usr/local/bin /usr/local/lib
    /etc /opt/conda /opt/conda/bin /opt/venv
"""
_SYSTEM = frozenset(_SYSTEM_TEXT.split())


@check()
def system_folder_hidden(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A volume at a folder with programs of the image. Values: ``path``, ``volume``."""
    if target.group is None:
        return
    spec = get_mapping(target.doc.data, "spec")
    volumes = {get_text(volume, "name"): volume for _, volume in get_entries(spec, "volumes")}
    for at, mount in get_entries(target.data, "volumeMounts"):
        path, name = get_text(mount, "mountPath"), get_text(mount, "name")
        is_file = (
            any(kind in volumes.get(name, {}) for kind in ("configMap", "secret")) and "subPath" in mount
        )
        is_node = "hostPath" in volumes.get(name, {})
        if path and normpath(path) in _SYSTEM and not is_file and not is_node:
            yield Violation(("volumeMounts", at, "mountPath"), {"path": path, "volume": name})
