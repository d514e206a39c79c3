"""How launchers write the script's arguments into a line for the shells of other hosts.

Source: lowering-anchors §2.2 and §2.5, and https://github.com/deepspeedai/DeepSpeed, launcher. What arrives
there one sees with :func:`podplan.launchers.quoting.resplit`.
"""

from __future__ import annotations

from collections.abc import Sequence


def deepspeed(words: Sequence[str]) -> str:
    """The line of deepspeed from 0.12.5 on, over pdsh: double quotes around words with a blank, no others."""
    return " ".join('"' + word.replace('"', '\\"') + '"' if " " in word else word for word in words)


def deepspeed_before_0_10_1(words: Sequence[str]) -> str:
    """The line of older releases: single quotes around words that do not start with ``-``, no others."""
    return " ".join(word if word.startswith("-") else f"'{word}'" for word in words)


def colossalai(words: Sequence[str]) -> str:
    """The line of colossalai run: words with blanks between them, and no quotes."""
    return " ".join(words)
