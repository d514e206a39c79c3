"""$(VAR) as the kubelet replaces it; written apart from podplan's own, which it is to prove.

Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expanded(text: str, env: Mapping[str, str]) -> str:
    """The text with ``$(NAME)`` replaced where the name is known, and ``$$`` as one dollar."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] is None else env.get(found[1], found[0])

    return _REFERENCE.sub(value, text)
