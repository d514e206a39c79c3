"""Folders for targets that access files, created once for each set of files."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path

_made: dict[tuple[str, ...], Path] = {}


@contextmanager
def repository(files: Mapping[str, str]) -> Iterator[Path]:
    """Change to the top of a git repository with the files inside the ``with`` block."""
    key = tuple(sorted(files))
    if key not in _made:
        folder = Path(tempfile.mkdtemp(prefix="podplan-fuzz-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.mkdir(folder / ".git")
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        _made[key] = folder
    with chdir(_made[key]):
        yield _made[key]
