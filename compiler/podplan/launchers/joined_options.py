"""Words of a command line that hold more than one option, because nobody splits them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from podplan.core.typing import NamedTuple
from podplan.launchers import accelerate, colossalai, deepspeed, horovodrun, mpirun, torchrun
from podplan.launchers.argparse import spellings
from podplan.launchers.arguments import Grammar
from podplan.launchers.words import Word

_GRAMMARS: dict[str, Grammar] = {
    "torchrun": torchrun.GRAMMAR,
    "torch.distributed.launch": torchrun.LAUNCH,
    "deepspeed": deepspeed.GRAMMAR,
    "accelerate": accelerate.GRAMMAR,
    "horovodrun": horovodrun.GRAMMAR,
}


class Joined(NamedTuple):
    """A word that should be several; ``first`` is the option that it begins with, "" for a plain value."""

    word: Word
    first: str


def find_joined(launcher: str, words: tuple[Word, ...], script: Word | None) -> Iterator[Joined]:
    """The words of a line before its script that hold an option and more."""
    known = _options_of(launcher)
    if known is None:
        return
    option = ""  # the one that takes the next word for its value
    for word in words:
        if not word.text.startswith("-") and (word is script or word.text.endswith(".py")):
            return
        pieces = word.text.split() if word.known else []
        dashed = word.text.startswith("-")
        spelling, equals, _ = pieces[0].partition("=") if pieces else ("", "", "")
        opens = dashed and known(spelling)
        # --launcher_args and the like take options of another program in one word.
        if len(pieces) > 1 and not (option or spelling).endswith("args"):
            more = any(known(piece.partition("=")[0]) for piece in pieces[1:])
            if (opens and (more or not equals)) or (more and script is not None):
                yield Joined(word, spelling if opens else "")
        option = spelling if dashed and not equals and not option.endswith("args") else ""


def _options_of(launcher: str) -> Callable[[str], bool] | None:
    """Whether a launcher knows an option by its spelling; None for one without a table."""
    if launcher in _GRAMMARS:
        return spellings(_GRAMMARS[launcher]).__contains__
    if launcher == "colossalai":
        return colossalai.OPTIONS.__contains__
    if launcher == "mpirun":
        return lambda text: text.startswith("-") and text.lstrip("-") in mpirun.OPTIONS
    return None
