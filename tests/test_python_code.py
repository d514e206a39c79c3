"""What is certain about scripts in Python."""

from __future__ import annotations

import ast

import pytest

from podplan.lint.analysis.python_code import parse_python
from podplan.lint.checks.python_sources import (
    find_constants,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
)

CERTAIN = {
    "save()": True,
    "with scope():\n    save()": True,
    "for epoch in range(3):\n    save()": True,
    "for epoch in range(3):\n    train()\nsave()": True,
    "def main():\n    save()\nmain()": True,
    "def main():\n    save()\nif __name__ == '__main__':\n    main()": True,
    "def write():\n    save()\nwrite()": True,
    "@hydra.main()\ndef main():\n    save()\nmain()": True,
    "def main():\n    save()\nif chief:\n    main()": False,
    "def write():\n    save()": False,
    "@rank_zero_only\ndef main():\n    save()\nmain()": False,
    "@accelerator.on_main_process\ndef write():\n    save()\nwrite()": False,
    "if rank == 0:\n    save()": False,
    "rank == 0 and save()": False,
    "save() if rank == 0 else None": False,
    "if rank:\n    sys.exit(0)\nsave()": False,
    "for epoch in range(3):\n    if rank:\n        continue\n    save()": False,
    "def main():\n    if rank:\n        return\n    save()\nmain()": False,
}


@pytest.mark.parametrize("text", CERTAIN)
def test_calls_that_each_process_makes(text: str) -> None:
    tree = parse_python(text)
    assert tree is not None
    calls = [
        get_dotted_name(node.func)
        for statement in iter_certain_statements(tree, with_loops=True)
        for node in iter_certain_expressions(statement)
        if isinstance(node, ast.Call)
    ]
    assert ("save" in calls) is CERTAIN[text]


def test_a_loop_may_have_nothing_to_do() -> None:
    tree = parse_python("for epoch in range(epochs):\n    save()")
    assert tree is not None
    assert list(iter_certain_statements(tree)) == []


def test_constants_have_one_assignment() -> None:
    tree = parse_python("a = 1\nb = 2\nb = 3\ndef f(c):\n    pass\nc = 4\nfor d in e:\n    d = 5\n")
    assert tree is not None
    assert find_constants(tree).values == {"a": 1}


@pytest.mark.parametrize("text", ["print 'a'", "a\0b", "(" * 10_000, "a = 1\n" * 50_000], ids=len)
def test_what_is_no_script(text: str) -> None:
    assert parse_python(text) is None
