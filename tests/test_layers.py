"""Packages import only packages below, modules do not import each other, and a check loads little."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import podplan

PACKAGE = Path(podplan.__path__[0])

# From the lowest layer to the highest; docs/architecture.md says what each is about.
LAYERS = (
    *(
        "core",
        "redaction",
        "yaml",
        "kubernetes",
        "launchers",
        "kinds",
        "cluster",
        "workspace",
        "schema",
        "config",
    ),
    *("profile", "lint", "pipeline", "rendering", "checker", "tools", "report", "integrations", "cli"),
)
ABOVE_ALL = {"podplan", "podplan.__main__"}


def modules() -> dict[str, Path]:
    """Every module of podplan by its dotted name."""
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        dotted = ".".join(("podplan", *path.relative_to(PACKAGE).with_suffix("").parts))
        names[dotted.removesuffix(".__init__")] = path
    return names


MODULES = modules()


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement that runs, without what is below `if TYPE_CHECKING`; expressions import nothing."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, field, ())
            pending += below if isinstance(below, list) else ()


def parse_imports(name: str) -> set[str]:
    """The modules of podplan that a module imports anywhere, also inside of functions."""
    found: set[str] = set()
    for node in statements(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "podplan":
            assert node.level == 0, f"{name}: write the whole name of {node.module}"
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= submodules & set(MODULES)
            if not submodules <= set(MODULES):
                found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "podplan"}
    return found - {name}


def package_of(name: str) -> str:
    return name.split(".")[1]


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports. Tests ask for it: whoever only collects them need not wait."""
    return {name: parse_imports(name) for name in MODULES}


def test_every_package_has_a_layer() -> None:
    assert {package_of(name) for name in MODULES if name not in ABOVE_ALL} == set(LAYERS)


def test_imports_lead_to_lower_layers() -> None:
    upward = [
        f"{name} imports {other}"
        for name in imports().keys() - ABOVE_ALL
        for other in imports()[name] - ABOVE_ALL
        if package_of(other) != package_of(name)
        and LAYERS.index(package_of(other)) > LAYERS.index(package_of(name))
    ]
    assert sorted(upward) == []


def test_no_modules_import_each_other() -> None:
    try:
        TopologicalSorter(
            {name: others - ABOVE_ALL for name, others in imports().items() if name not in ABOVE_ALL}
        ).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None


def test_private_modules_stay_in_their_package() -> None:
    strangers = [
        f"{name} imports {other}"
        for name, others in imports().items()
        for other in others
        if other.split(".")[-1].startswith("_") and not name.startswith(other.rpartition(".")[0])
    ]
    assert sorted(strangers) == []


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
    "podplan.lint.finding_redaction",
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
