"""Where the data that ships with podplan lies: ``policies/`` and ``schemas/``.

A wheel holds both folders inside the package; in a checkout they stand beside ``compiler/``.
"""

from __future__ import annotations

import os.path

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CHECKOUT_ROOT = os.path.dirname(os.path.dirname(PACKAGE_FOLDER))


def find_bundled_folder(name: str) -> str:
    """The absolute path of the bundled folder ``name`` ("policies" or "schemas")."""
    packaged = os.path.join(PACKAGE_FOLDER, name)
    return packaged if os.path.isdir(packaged) else os.path.join(_CHECKOUT_ROOT, name)


def read_bundled_file(*names: str) -> str:
    """The text of a bundled file, such as ``read("schemas", "PodGroup.json")``.

    Raises FileNotFoundError when the file does not ship.
    """
    with open(os.path.join(find_bundled_folder(names[0]), *names[1:]), encoding="utf-8") as file:
        return file.read()
