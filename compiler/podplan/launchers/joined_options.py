"""Words of a command line that contain several options, because no shell splits them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from podplan.core.typing import NamedTuple
from podplan.launchers.argparse import index_spellings
from podplan.launchers.arguments import OptionGrammar
from podplan.launchers.words import Word


class JoinedWord(NamedTuple):
    """A word that should be several; ``first_option`` is the option at its start, "" for a plain value."""

    word: Word
    first_option: str


def find_unsplit_words(launcher: str, words: tuple[Word, ...], script: Word | None) -> Iterator[JoinedWord]:
    """Yield the words of a line before its script that contain an option and more."""
    is_known_option = _make_option_test(launcher)
    if is_known_option is None:
        return
    if launcher == "mpirun" and script is not None and script.is_known and len(script.text.split()) > 1:
        yield JoinedWord(script, "")  # mpirun looks for a program of this name
        return
    value_option = ""  # the option that takes the next word as its value
    for number, word in enumerate(words):
        if launcher == "mpirun" and number > 1 and _takes_parameter(words[number - 2]):
            continue  # its value may be a command line, as that of plm_rsh_agent
        if not word.text.startswith("-") and (word is script or word.text.endswith(".py")):
            return
        pieces = word.text.split() if word.is_known else []
        starts_with_dash = word.text.startswith("-")
        spelling, equals, _ = pieces[0].partition("=") if pieces else ("", "", "")
        starts_with_option = starts_with_dash and is_known_option(spelling)
        # --launcher_args and the like take options of another program in one word.
        if len(pieces) > 1 and not (value_option or spelling).endswith("args"):
            has_further_option = any(is_known_option(piece.partition("=")[0]) for piece in pieces[1:])
            if (starts_with_option and (has_further_option or not equals)) or (
                has_further_option and script is not None
            ):
                yield JoinedWord(word, spelling if starts_with_option else "")
        value_option = (
            spelling if starts_with_dash and not equals and not value_option.endswith("args") else ""
        )


def _takes_parameter(word: Word) -> bool:
    """Whether a word is an option of mpirun for a parameter, such as --mca: its name and value follow."""
    return word.text.startswith("-") and word.text.endswith("mca")


def _make_option_test(launcher: str) -> Callable[[str], bool] | None:
    """Return a test whether a launcher has an option of a given spelling; None for one without a table."""
    if launcher == "colossalai":
        from podplan.launchers.colossalai import OPTION_NAMES

        return OPTION_NAMES.__contains__
    if launcher == "mpirun":
        from podplan.launchers.mpirun import is_known_option

        return is_known_option
    grammar = _find_grammar(launcher)
    return index_spellings(grammar).__contains__ if grammar is not None else None


def _find_grammar(launcher: str) -> OptionGrammar | None:
    if launcher in ("torchrun", "torch.distributed.launch"):
        from podplan.launchers import torchrun

        return torchrun.GRAMMAR if launcher == "torchrun" else torchrun.LAUNCH_GRAMMAR
    if launcher not in ("deepspeed", "accelerate", "horovodrun"):
        return None
    grammar: OptionGrammar = import_module(f"podplan.launchers.{launcher}").GRAMMAR
    return grammar
