"""Names in docstrings exist: who renames a parameter, field or function renames it in docstrings, too."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "compiler" / "podplan"
if not PACKAGE.is_dir():
    pytest.skip("not a checkout", allow_module_level=True)

# By module, the names in docstrings that are not names of code there, and what they are.
FOREIGN_NAMES = {
    "integrations/argocd/parameters.py": {"_": "a character"},
    "kinds/spec.py": {"type": "field of an entry in a CR"},
    "launchers/arguments.py": {"nproc_per_node": "an example"},
    "launchers/colossalai.py": {"ignore_unknown_options": "setting of click"},
    "launchers/discovery.py": {
        "env": "field of a container",
        "python": "value of a field of Invocation",
        "other": "value of a field of Invocation",
    },
    "launchers/shell_nodes.py": {
        "then": "reserved word of a shell",
        "do": "reserved word of a shell",
        "function": "reserved word of a shell",
    },
    "lint/checks/lost_progress.py": {
        "last_checkpoint": "variable of the cited script",
        "overwrite_output_dir": "variable of the cited script",
    },
    "lint/checks/trainer_options.py": {
        "__post_init__": "function of the cited module",
        "validate_args": "function of the cited module",
    },
    "lint/checks/unused_retries.py": {"_invoke_run": "function of the cited module"},
    "profile/flags.py": {"namespace": "field of the metadata", "params.NAME": "key of a flag"},
    "profile/matrix.py": {"include": "field of a matrix"},
    "redaction/secret_names.py": {
        "AWS_SECRET_ACCESS_KEY": "an example",
        "dbPassword": "an example",
        "imagePullSecrets": "field of a Pod",
    },
    "report/fixes.py": {"patch": "a program"},
    "tools/__init__.py": {"check": "a command"},
    "workspace/loader.py": {"extends": "field of a profile"},
    "yaml/edits/source_spans.py": {"env": "field of a container"},
}

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _pop_docstrings(tree: ast.Module) -> list[tuple[Documented, str]]:
    """Remove the docstrings of a module, and return them with what they document."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, Documented):
            text = ast.get_docstring(node)
            if text is not None:
                node.body[0] = ast.Pass()
                found.append((node, text))
    return found


def _words_of(node: ast.AST) -> set[str]:
    return set(re.findall(r"\w+", ast.unparse(node)))


def _defined_words(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module has: of a class or function, its own name only."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    return _words_of(node)


def _find_modules_beside(path: Path) -> dict[str, Path]:
    """The files of the modules in the folder of a module, which names them without their package."""
    found = {file.stem: file for file in path.parent.glob("*.py")}
    return found | {file.parent.name: file for file in path.parent.glob("*/__init__.py")}


@cache
def _code_words(path: Path) -> set[str]:
    """The words of the code of a module, without its docstrings and comments."""
    tree = ast.parse(path.read_text("utf-8"))
    _pop_docstrings(tree)
    return _words_of(tree)


def _iter_unknown_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the names in docstrings that do not exist, each with what is documented.

    A class has its own fields and the names at the top of its module; a function may document values that
    another one builds, so that any name in its module counts.
    """
    source = path.read_text("utf-8")
    if "``" not in source:
        return
    tree = ast.parse(source)
    docstrings = _pop_docstrings(tree)
    module_words = _code_words(path)
    modules = _find_modules_beside(path)
    top_words = {word for node in tree.body for word in _defined_words(node)}
    for node, text in docstrings:
        owner = getattr(node, "name", "the module")
        known = _words_of(node) | top_words if isinstance(node, ast.ClassDef) else module_words
        for name in re.findall(r"``([A-Za-z_][\w.]*)``", text):
            first, _, rest = name.partition(".")
            if not rest:
                exists = name in known or name in modules or keyword.iskeyword(name)
            else:
                exists = first not in modules or rest.partition(".")[0] in _code_words(modules[first])
            if not exists:
                yield owner, name


def _list_unknown_names() -> list[tuple[str, str, str]]:
    return [
        (path.relative_to(PACKAGE).as_posix(), owner, name)
        for path in sorted(PACKAGE.rglob("*.py"))
        for owner, name in _iter_unknown_names(path)
    ]


@pytest.mark.long
def test_names_in_docstrings_exist() -> None:
    unknown = _list_unknown_names()
    assert [row for row in unknown if row[2] not in FOREIGN_NAMES.get(row[0], ())] == []
    used = {(file, name) for file, _, name in unknown}
    assert [
        (file, name) for file, names in FOREIGN_NAMES.items() for name in names if (file, name) not in used
    ] == []


def test_the_former_name_of_a_field_or_parameter_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        "class Job:\n"
        '    """A job; ``name`` and ``version``."""\n'
        "    name: str\n"
        "def build(version):\n"
        '    """A ``Job`` of ``version`` and ``kind``, ``with`` ``module.build`` or ``module.make``."""\n'
    )
    assert list(_iter_unknown_names(path)) == [
        ("Job", "version"),
        ("build", "kind"),
        ("build", "module.make"),
    ]
