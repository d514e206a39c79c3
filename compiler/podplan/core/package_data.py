"""Location of the bundled data: ``policies/`` and ``schemas/``.

A wheel contains both folders inside the package; in a checkout they are next to ``compiler/``.
"""

from __future__ import annotations

import os.path

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CHECKOUT_ROOT = os.path.dirname(os.path.dirname(PACKAGE_FOLDER))


def find_bundled_folder(name: str) -> str:
    """Return the absolute path of the bundled folder ``name`` ("policies" or "schemas")."""
    packaged = os.path.join(PACKAGE_FOLDER, name)
    return packaged if os.path.isdir(packaged) else os.path.join(_CHECKOUT_ROOT, name)


def read_bundled_file(*names: str) -> str:
    """Return the text of a bundled file, such as ``read_bundled_file("schemas", "PodGroup.json")``.

    Raises FileNotFoundError: when there is no such bundled file.
    """
    with open(os.path.join(find_bundled_folder(names[0]), *names[1:]), encoding="utf-8") as file:
        return file.read()
