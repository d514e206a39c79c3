"""Expands $(VAR) as the kubelet does; independent of podplan's implementation, which it is to verify.

Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expanded(text: str, env: Mapping[str, str]) -> str:
    """Return the text with ``$(NAME)`` replaced if the name is known, and ``$$`` as one dollar."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] is None else env.get(found[1], found[0])

    return _REFERENCE.sub(value, text)
