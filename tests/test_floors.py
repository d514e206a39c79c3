"""A module imports only lower floors or its own folder; and `podplan check FILE` loads only what it needs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import podplan

PACKAGE = Path(podplan.__path__[0])

# From the ground up; what stands in one line may not import one another.
FLOORS = [
    {"typing"},
    {"patterns"},
    {"alignment", "limits", "nearest", "replay", "requests", "shortening", "varying"},
    {"redaction"},
    {"source"},
    {"provenance"},
    {"facts", "findings"},
    {"rules", "emit", "bundled", "selecting", "groups", "pruning", "launchers"},
    {"kubernetes", "revisions", "fixing"},
    {"kinds"},
    {"reading"},
    {"schema", "cel"},
    {"config", "profile", "lint", "status"},
    {"importing", "graph"},
    {"pipeline"},
    {"rendering"},
    {"checking"},
    {"check"},
    {"testing", "repair", "calibration", "formatting", "argocd", "diff"},
    {"migrating"},
    {"report"},
    {"lsp", "actions"},
    {"cli"},
]
ROOT_MODULES = {"__init__", "__main__"}


def imported(path: Path) -> set[str]:
    """The modules of podplan that a file imports anywhere, as their first name below the package."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            if node.module == "podplan":
                names |= {alias.name for alias in node.names}
            elif node.module.startswith("podplan."):
                names.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("podplan.")}
    return names - {"__version__"}


def floor_of(name: str) -> int:
    found = [i for i, floor in enumerate(FLOORS) if name in floor]
    assert found, f"{name} has no floor; say in FLOORS where it belongs"
    return found[0]


def house() -> list[tuple[str, Path]]:
    """Every module with the name of its folder below the package, or its own."""
    modules = []
    for path in sorted(PACKAGE.rglob("*.py")):
        first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if first not in ROOT_MODULES:
            modules.append((first, path))
    return modules


@pytest.mark.parametrize(("name", "path"), house(), ids=lambda value: str(getattr(value, "stem", value)))
def test_imports_lead_down(name: str, path: Path) -> None:
    above = {other for other in imported(path) - {name} if floor_of(other) >= floor_of(name)}
    assert not above, f"{path.relative_to(PACKAGE)} imports {sorted(above)}, which are not below it"


HEAVY = {
    "click",
    "dataclasses",
    "email",
    "gettext",
    "hashlib",
    "importlib.metadata",
    "inspect",
    "jinja2",
    "jsonschema",
    "jsonschema_rs",
    "locale",
    "logging",
    "platform",
    "socket",
    "ruamel",
    "tempfile",
    "tomllib",
    "typing",
    "podplan.profile",
    "podplan.tools.importer",
    "podplan.tools.formatter",
    "podplan.tools.migrator",
    "podplan.lint.cel",
    "podplan.tools.status",
    "podplan.tools.cluster_diff",
    "podplan.tools.graph",
    "podplan.integrations.lsp",
    "podplan.redaction.broken_text",
    "podplan.redaction.matching",
    "podplan.redaction.redactor",
    "podplan.yaml.secret_spans",
    "podplan.lint.redaction",
    "podplan.cli.check_cache",
    "podplan.cli.commands",
    "cel_expr_python",
}


CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: a}
spec:
  replicaSpecs:
  - type: worker
    template: {spec: {containers: [{name: main, image: 'busybox:1.36'}]}}
"""
SHORT = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: a}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/train:1
  run: [train.py, --epochs, "${{ params.epochs }}"]
  params: {epochs: {type: integer, default: 90}}
"""


def loaded_by(text: str, folder: Path) -> set[str]:
    """The modules that a check of one file loads, in which there is no error, with a plain configuration."""
    (folder / "job.yaml").write_text(text)
    (folder / "podplan.toml").write_text('ignore = ["SEC014"]\n')
    script = (
        "import sys\nfrom podplan.cli import main\nsys.argv = ['podplan', 'check', sys.argv[1]]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        "print('\\n'.join(sorted(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, str(folder / "job.yaml")]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())
    assert "podplan.pipeline" in loaded
    return loaded


def test_check_of_one_cr_loads_only_what_it_needs(tmp_path: Path) -> None:
    """A valid CR needs neither templates nor explanations nor profiles."""
    assert not HEAVY & loaded_by(CR, tmp_path)


def test_check_of_one_profile_loads_only_what_it_needs(tmp_path: Path) -> None:
    """An expression that is only a path needs no templates, and a param of a plain type no validator."""
    loaded = loaded_by(SHORT, tmp_path)
    assert "podplan.profile.expressions" in loaded
    assert not (HEAVY - {"podplan.profile"}) & loaded
