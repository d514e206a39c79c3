"""What is certain about scripts in Python."""

from __future__ import annotations

import pytest

from podplan.lint.analysis.python_code import MOST_TEXT, read_script

CERTAIN = {
    "save()": True,
    "with scope():\n    save()": True,
    "for epoch in range(3):\n    save()": True,
    "def main():\n    save()\nmain()": True,
    "def main():\n    save()\nif __name__ == '__main__':\n    main()": True,
    "def main():\n    save()\nif chief:\n    main()": False,
    "def write():\n    save()\nwrite()": False,
    "@only_rank_zero\ndef main():\n    save()\nmain()": False,
    "if rank == 0:\n    save()": False,
    "rank == 0 and save()": False,
    "save() if rank == 0 else None": False,
    "if rank:\n    sys.exit(0)\nsave()": False,
    "for epoch in range(3):\n    if rank:\n        continue\n    save()": False,
    "def main():\n    if rank:\n        return\n    save()\nmain()": False,
}


@pytest.mark.parametrize("text", CERTAIN)
def test_calls_that_each_process_makes(text: str) -> None:
    script = read_script(text)
    assert script is not None
    (call,) = [one for one in script.calls if one.name == "save"]
    assert call.is_certain is CERTAIN[text]
    assert text[slice(*call.span)].startswith("save()")


def test_constants_have_one_assignment() -> None:
    script = read_script("a = 1\nb = 2\nb = 3\ndef f(c):\n    pass\nc = 4\nfor d in e:\n    d = 5\n")
    assert script is not None
    assert script.constants == {"a": 1}


@pytest.mark.parametrize("text", ["print 'a'", "a\0b", "(" * 10_000, "a = 1\n" * MOST_TEXT], ids=len)
def test_what_is_no_script(text: str) -> None:
    assert read_script(text) is None


def test_places_are_counted_in_characters() -> None:
    text = "# größe\nx = 'ä'; torch.save(x)\n"
    script = read_script(text)
    assert script is not None
    (call,) = script.calls
    assert (call.module, call.name, text[slice(*call.span)]) == ("torch", "save", "torch.save(x)")
