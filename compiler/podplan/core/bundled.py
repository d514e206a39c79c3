"""Where the data that ships with podplan lies: ``policies/`` and ``schemas/``.

A wheel holds both folders inside the package; in a checkout they stand beside ``compiler/``.
"""

from __future__ import annotations

import os.path

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CHECKOUT = os.path.dirname(os.path.dirname(PACKAGE))


def folder(name: str) -> str:
    """The absolute path of the bundled folder ``name`` ("policies" or "schemas")."""
    inside = os.path.join(PACKAGE, name)
    return inside if os.path.isdir(inside) else os.path.join(_CHECKOUT, name)


def read(*names: str) -> str:
    """The text of a bundled file, such as ``read("schemas", "PodGroup.json")``.

    Raises FileNotFoundError when the file does not ship.
    """
    with open(os.path.join(folder(names[0]), *names[1:]), encoding="utf-8") as file:
        return file.read()
