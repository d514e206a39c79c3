"""The configuration: which file counts, what it may say, and where each setting comes from."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from podplan.cli.settings import DEFAULTS
from podplan.config import Config, load_config_file, load_config_for
from podplan.config.toml_lines import find_key_lines
from podplan.core import package_data
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.limits import LimitExceeded
from tests.command import podplan

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: count}
spec:
  replicaSpecs:
  - type: main
    template:
      spec:
        hostNetwork: true
        containers:
        - {name: main, image: "busybox:1.36"}
"""


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a folder in it, and one stands at its top."""
    top = tmp_path / "repository"
    (top / ".git").mkdir(parents=True)
    (top / "jobs" / "vision").mkdir(parents=True)
    (tmp_path / "podplan.toml").write_text('preset = "audit"\n')
    monkeypatch.chdir(top)
    return top


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_nearest_file_wins_and_nothing_above_the_root_counts(top: Path) -> None:
    assert load_config_for("jobs/vision") == Config()
    write(top / "pyproject.toml", "[project]\nname = 'x'\n")
    assert load_config_for("jobs/vision") == Config()
    write(top / "pyproject.toml", "[tool.podplan]\npreset = 'strict'\n")
    found = load_config_for("jobs/vision/a.yaml")
    assert (found.file, found.preset, found.locations) == (
        "pyproject.toml",
        "strict",
        {"preset": "pyproject.toml:2"},
    )
    write(top / ".podplan.toml", "preview = true\n")
    assert (load_config_for("jobs").file, load_config_for("jobs").preset) == (".podplan.toml", "")
    write(top / "podplan.toml", "")
    assert load_config_for("jobs").file == "podplan.toml"
    write(top / "jobs" / "podplan.toml", "select = ['SEC']\n")
    assert (load_config_for("jobs/vision").file, load_config_for(".").file) == (
        "jobs/podplan.toml",
        "podplan.toml",
    )


def test_extend(top: Path) -> None:
    write(
        top / "podplan.toml",
        'preset = "strict"\nignore = ["SEC"]\nmandatory = ["SEC001"]\ninventory = "clusters/main.yaml"\n'
        'severity = {SEC002 = "info", SEC003 = "info"}\n[[paths]]\nmatch = ["a"]\n',
    )
    write(
        top / "jobs" / "podplan.toml",
        'extend = "../podplan.toml"\nignore = ["RES"]\nmandatory = ["SEC002"]\n'
        'severity = {SEC002 = "error"}\n'
        '[[paths]]\nmatch = ["b"]\n',
    )
    found = load_config_for("jobs/vision")
    assert (found.preset, found.ignore) == ("strict", ("RES",))
    assert found.mandatory == ("SEC001", "SEC002")
    assert found.inventory == "clusters/main.yaml"
    assert found.severity == {"SEC002": Severity.ERROR, "SEC003": Severity.INFO}
    assert [(one.match, one.folder) for one in found.paths] == [
        (("a",), str(top)),
        (("b",), str(top / "jobs")),
    ]
    assert found.locations["preset"] == "podplan.toml:1"
    assert found.locations["ignore"] == "jobs/podplan.toml:2"


def test_extend_of_a_pyproject(top: Path) -> None:
    write(top / "pyproject.toml", "[tool.podplan]\npreview = true\n")
    write(top / "jobs" / "podplan.toml", 'extend = "../pyproject.toml"\n')
    assert load_config_for("jobs").preview


WRONG = {
    'selct = ["SEC"]': ':1: unknown field "selct"; did you mean "select"?',
    '# so\n\npreset = "deflaut"': ':3: preset must be default, strict or audit, not "deflaut"; did you mean',
    'preview = "yes"': ":1: preview must be true or false",
    "k8s-version = 1.34": ":1: k8s-version must be a string",
    'k8s-version = "latest"': ':1: k8s-version must be a version of Kubernetes such as "1.34"',
    '[severity]\nSEC001 = "info"\nSEC002 = "off"': ":3: SEC002 must be error, warning or info",
    '[[paths]]\nmatch = ["a"]\n[[paths]]\nmatch = ["b"]\nignroe = ["SEC"]': ':5: unknown field "ignroe"; did',
    'exclude = ["a"]\n[[paths]]\nignore = ["SEC"]': ':2: required field "match" is missing',
    'pss = "strict"': ":1: pss must be baseline or restricted",
    'today = "2026-02-30"': ':1: today: there is no day "2026-02-30"',
    'today = "soon"': ":1: today must be a day, as YYYY-MM-DD",
    "today = 2026-11-21T10:00:00": ":1: today must be a day, as YYYY-MM-DD",
    "preset = ": ": Invalid value",
    "a = " + "[" * 30_000: ": nested too deeply",
    "a = " + "9" * 5_000: ": a number has thousands of digits",
    ".".join(["a"] * 20_000) + " = 1": ": a line has more than 256 dots",
    ".".join(["a"] * 200) + " = 1": ": nested too deeply",
    "# " + "x" * 300_000: ": has 300,002 bytes, and at most 262,144 are read",
    "lowering = {x = 1}": ':1: unknown field "x"',
    '[lowering]\n"ssh.prot" = 22': ':2: unknown field "ssh.prot"; did you mean "ssh.port"?',
    '[lowering]\n"ssh.port" = "22"': ":2: ssh.port must be an integer",
    '[lowering]\n"service.per" = "node"': ":2: service.per must be replica, job or first",
    '[lowering]\n"pod.name" = "{job}-{index}"\n[lowering.DeepSpeedJob]\n"pod.name" = "{job}-{typ}-{index}"': (
        ":4: lowering.DeepSpeedJob.pod.name: {typ} stands for nothing; there are {base}, {job}, "
    ),
    '[lowering]\n"pod.name" = "{job}-{type}"': ":2: lowering.pod.name must end in {index}",
    '[lowering]\n"pod.labels" = {a = true}': ":2: lowering.pod.labels: wants text, or false for what is to",
    "[lowering.MPIJob]": ':1: unknown field "MPIJob"',
    'inventory = "../../x.yaml"': ':1: inventory: "../../x.yaml" leads out of the repository',
    'inventory = "/etc/passwd"': ':1: inventory: "/etc/passwd" leads out of the repository',
    'baseline = "../x.json"': ':1: baseline: "../x.json" leads out of the repository',
    'policies = ["jobs", "../more"]': ':1: policies: "../more" leads out of the repository',
    'policies = ["link"]': ':1: policies: "link" leads out of the repository',
    r'inventory = "a\u0000b"': r":1: inventory: a path has no null character (\u0000)",
    r'policies = ["jobs", "a\u0000b"]': r":1: policies: a path has no null character (\u0000)",
    r'extend = "a\u0000b"': r":1: extend: a path has no null character (\u0000)",
    r'render = [{output = "a\u0000b"}]': r":1: render: a path has no null character (\u0000)",
    'policies = ["none"]': ':1: policies: there is no folder "none"',
    'extend = "../podplan.toml"': ':1: extend: "../podplan.toml" leads out of the repository',
    'extend = "podplan.toml"': ':1: extend = "podplan.toml" leads in a circle',
    'extend = "link/podplan.toml"': ':1: extend: "link/podplan.toml" leads out of the repository',
    'extend = "none.toml"': ':1: extend = "none.toml": no such file',
    'extend = "jobs"': ':1: extend = "jobs": no such file',
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:40])
def test_what_is_wrong(top: Path, text: str) -> None:
    os.symlink(top.parent, top / "link")
    write(top / "podplan.toml", text)
    with pytest.raises(UsageError) as error:
        load_config_for(".")
    assert str(error.value).startswith(f"podplan.toml{WRONG[text]}")


def test_a_byte_order_mark_is_passed_over(top: Path) -> None:
    for text in ('preset = "strict"\n', 'preset = "strict"\n[severity]\nSEC001 = "info"\n'):
        (top / "podplan.toml").write_text(text, encoding="utf-8-sig")
        assert load_config_for(".").preset == "strict"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('# fünf\r\n# größer\r\npreset = "strict"\r\n'.encode("latin-1"), ":1: byte 0xFC"),
        (b'preset = "strict"\n\n# \xe4', ":3: byte 0xE4"),
        ('preset = "strict"\n'.encode("utf-16"), ":1: byte 0xFF"),
    ],
)
def test_a_file_that_is_not_utf8(top: Path, content: bytes, said: str) -> None:
    (top / "podplan.toml").write_bytes(content)
    with pytest.raises(UsageError) as error:
        load_config_for(".")
    assert str(error.value) == f"podplan.toml{said} is not UTF-8; save the file as UTF-8"


def test_every_mistake_is_told(top: Path) -> None:
    write(top / "podplan.toml", "a = 1\nb = 2\n[severity]\nSEC = 3\n")
    with pytest.raises(UsageError) as error:
        load_config_for(".")
    assert [line.partition(": ")[0] for line in str(error.value).splitlines()] == [
        "podplan.toml:1",
        "podplan.toml:2",
        "podplan.toml:4",
    ]


def test_a_file_that_leads_out_of_the_root_is_not_read(top: Path) -> None:
    write(top.parent / "secret", "SWORDFISH\n")
    os.symlink("../secret", top / "podplan.toml")
    with pytest.raises(UsageError) as error:
        load_config_for(".")
    assert str(error.value) == "podplan.toml: leads out of the repository"


def test_a_chain_of_files_has_an_end(top: Path) -> None:
    for number in range(40):
        write(top / f"{number}.toml", f'extend = "{number + 1}.toml"\n')
    write(top / "40.toml", "")
    with pytest.raises(LimitExceeded, match="more than 32 files extend each other"):
        load_config_file("0.toml")


def test_of_a_broken_pyproject_only_what_is_ours_matters(top: Path) -> None:
    write(top / "pyproject.toml", "[project\n")
    assert load_config_for(".") == Config()
    write(top / "pyproject.toml", "[tool.podplan]\npreset = \n")
    with pytest.raises(UsageError, match=r"pyproject.toml: Invalid value"):
        load_config_for(".")


TEXTS = [
    "a = 1\nb.c = 2\n\"d e\" = 3\n'f' = 4\n",
    '[x]\na = """\nb = 2\n[y]\n"""\nc = [\n  1, # ]\n  "]", # [\n]\nd = 1\n[y.z]\ne = 1\n',
    "[[p]]\nm = 1\n[p.q]\nn = 2\n[[p]]\nm = 3\n [[p.r]]\n s = 4\n [[p.r]]\n s = 5\n"
    "[t]\nu = {v = [1,\n 2]}\nw = 1\n",
    "a = '''\n[no]\n'''\n\n\n[ b . \"c.d\" ] # so\ne = 'x # y'\nf = \"\\\"\"\ng = 1\n",
]


def keys(data: Mapping[str, Any], path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    for key, value in data.items():
        yield (*path, key)
        for number, below in enumerate(value if isinstance(value, list) else ()):
            if isinstance(below, dict):
                yield (*path, key, number)
                yield from keys(below, (*path, key, number))
        if isinstance(value, dict) and key != "u":  # written in braces
            yield from keys(value, (*path, key))


@pytest.mark.parametrize("text", TEXTS)
def test_lines_of_keys(text: str) -> None:
    found = find_key_lines(text)
    lines = text.splitlines()
    leaves = [path for path in keys(tomllib.loads(text)) if path[:-1] or path in found]
    assert len(leaves) > 4
    named = {path: line for path, line in found.items() if isinstance(path[-1], str)}
    assert set(named) >= {path for path in leaves if isinstance(path[-1], str)} - {("p",), ("p", 1, "r")}
    for path, line in named.items():
        assert str(path[-1]) in lines[line - 1], path


def settings_of(folder: Path, *arguments: str) -> dict[str, tuple[str, str]]:
    run = podplan("check", "--show-settings", *arguments, cwd=folder)
    assert (run.code, run.err) == (0, "")
    assert tomllib.loads(run.out), "what is shown is a configuration itself"
    root, *lines = run.out.splitlines()
    assert root == f"# root: {folder}"
    rows = (line.split(" = ", 1) for line in lines)
    return {key: (rest.split("  #")[0].strip(), rest.split("# ")[-1]) for key, rest in rows}


def test_show_settings(top: Path) -> None:
    write(
        top / "podplan.toml",
        'preset = "strict"\nignore = ["SEC001"]\ntoday = 2026-11-21\n[severity]\nSEC002 = "info"\n'
        '[[paths]]\nmatch = ["jobs/**"]\nextend-select = ["SEC001"]\n',
    )
    shown = settings_of(
        top, "--ignore", "SEC003,SEC004", "--fail-on", "warning", "--severity", "SEC005=error"
    )
    assert shown["preset"] == ('"strict"', "podplan.toml:1")
    assert shown["ignore"] == ('["SEC001", "SEC003", "SEC004"]', "podplan.toml:2 and --ignore")
    assert shown["severity"] == ('{SEC002 = "info", SEC005 = "error"}', "podplan.toml:4 and --severity")
    assert shown["fail-on"] == ('"warning"', "--fail-on")
    assert shown["today"] == ('"2026-11-21"', "podplan.toml:3")
    assert shown["preview"] == ("false", "default")
    assert shown["paths"] == ('[{match = ["jobs/**"], extend-select = ["SEC001"]}]', "podplan.toml:6")
    assert settings_of(top, "--isolated", "--today", "2026-01-01")["today"] == ('"2026-01-01"', "--today")
    assert settings_of(top, "--isolated")["today"][1] == "the clock"
    assert settings_of(top, "--isolated")["preset"] == ('"default"', "default")


def test_a_configuration_that_is_not_used_is_named(tmp_path: Path) -> None:
    for name in ("here", "there/jobs", "bare"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("here/podplan.toml", "here/.podplan.toml", "there/podplan.toml", "there/jobs/a.yaml"):
        write(tmp_path / name, "")
    assert podplan("check", "../there", cwd=tmp_path / "here").err.splitlines() == [
        "podplan: ../here/podplan.toml is not used: ../there/podplan.toml is the configuration of the first"
        " path, which holds for all",
        "podplan: ../here/.podplan.toml is not used: there is another configuration in its folder, which"
        " takes precedence",
    ]
    assert podplan("check", "../bare", cwd=tmp_path / "there").err == (
        f"podplan: podplan.toml is not used: the first path is in {tmp_path}/bare, which has no configuration"
        " above that path\n"
        "podplan: no YAML file in ../bare, so nothing is checked\n"
    )
    assert podplan("check", "jobs", cwd=tmp_path / "there").err == ""
    assert podplan("check", "../there", "--isolated", cwd=tmp_path / "here").err == ""


def test_a_configuration_below_the_checked_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "team/jobs").mkdir(parents=True)
    write(tmp_path / "podplan.toml", "")
    write(tmp_path / "team/podplan.toml", 'ignore = ["DIST"]\n')
    write(tmp_path / "team/jobs/a.yaml", "")
    note = "1 × configuration in a folder below, which is not used (team/podplan.toml)"
    assert note in podplan("check", cwd=tmp_path).out
    assert note in podplan("check", "team/..", cwd=tmp_path).out.replace("team/../team", "team")
    assert note not in podplan("check", "--config", "team/podplan.toml", cwd=tmp_path).out
    assert "not used" not in podplan("check", "team", cwd=tmp_path).out


def found(folder: Path, *arguments: str) -> set[str]:
    run = podplan("check", "--format", "concise", "-v", *arguments, cwd=folder)
    return {f"{line.split()[1]} {line.split()[2]}" for line in run.out.splitlines()[:-1]}


RULES: list[tuple[str, tuple[str, ...], set[str]]] = [
    ("select = ['SEC001']", (), {"error SEC001"}),
    ("select = ['SEC']\nignore = ['SEC01']", (), {"error SEC001"}),
    ("select = ['host-namespaces', 'SEC015']", (), {"error SEC001", "info SEC015"}),
    ("select = ['SEC001']\nextend-select = ['SEC015']", (), {"error SEC001", "info SEC015"}),
    ("select = ['SEC001']", ("--select", "SEC015"), {"info SEC015"}),
    ("select = ['SEC001']", ("--extend-select", "SEC015"), {"error SEC001", "info SEC015"}),
    ("select = ['SEC001']", ("--isolated", "--select", "SEC017"), {"info SEC017"}),
    ("select = ['SEC001']", ("--ignore", "SEC"), {"error SEC001"}),
    ("select = ['SEC']", ("--ignore", "SEC01", "--ignore", "SEC001"), set()),
    (
        "select = ['SEC001', 'SEC015']\nseverity = {SEC = 'warning', SEC001 = 'info'}",
        (),
        {"info SEC001", "warning SEC015"},
    ),
    ("select = ['SEC001']\nseverity = {SEC = 'warning'}", ("--severity", "SEC001=info"), {"info SEC001"}),
    ("select = ['SEC001', 'SEC015']\npss = 'restricted@1.34'", (), {"error SEC001", "error SEC015"}),
    ("select = ['SEC001', 'SEC015']\npss = 'baseline'", (), {"error SEC001", "info SEC015"}),
    ("select = ['SEC015']\npss = 'restricted'\nseverity = {SEC015 = 'info'}", (), {"info SEC015"}),
    ("select = ['SEC001']\nignore = ['SEC']\nmandatory = ['SEC015']", (), {"error SEC001", "info SEC015"}),
    ("select = ['SEC001']\n[[paths]]\nmatch = ['*.yaml']\nselect = ['SEC015']", (), {"info SEC015"}),
    ("select = ['SEC001']\n[[paths]]\nmatch = ['jobs/']\nignore = ['SEC']", (), set()),
    (
        "ignore = ['SEC']\nselect = ['SEC']\n[[paths]]\nmatch = ['jobs/**']\nextend-select = ['SEC001']",
        (),
        {"error SEC001"},
    ),
    (
        "select = ['SEC001']\n[[paths]]\nmatch = ['others/**', 'jobs/*.yml']\nignore = ['SEC001']",
        (),
        {"error SEC001"},
    ),
    (
        "select = ['SEC001']\n[[paths]]\nmatch = ['**/job.yaml']\nseverity = {SEC001 = 'info'}",
        (),
        {"info SEC001"},
    ),
]


@pytest.mark.parametrize(("text", "flags", "wanted"), RULES, ids=range(len(RULES)))
def test_which_rules_are_on(top: Path, text: str, flags: tuple[str, ...], wanted: set[str]) -> None:
    write(top / "podplan.toml", text)
    write(top / "jobs" / "job.yaml", JOB)
    assert found(top, "jobs", *flags) == wanted


def test_rules_of_reading_can_be_turned_off_but_not_what_keeps_a_file_from_being_read(top: Path) -> None:
    write(top / "job.yaml", JOB.replace("  - type: main\n", "  - type: main\n    extra: 1\n    extra: 1\n"))
    assert found(top, "--select", "SEC001") == {"error SEC001", "error SCHEMA001", "error YAML002"}
    assert found(top, "--select", "SEC001", "--ignore", "SCHEMA,YAML") == {"error SEC001"}
    assert found(top, "--select", "SEC001", "--severity", "YAML=info", "--ignore", "unknown-field") == {
        "error SEC001",
        "info YAML002",
    }
    write(top / "job.yaml", JOB + "a: [\n")
    assert found(top, "--select", "SEC001", "--ignore", "ALL") == {"error YAML001"}


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        (
            "ignore = ['SEC0011']",
            (),
            'podplan.toml:1: ignore: no rule has the code, prefix or name "SEC0011"; did you mean "SEC0',
        ),
        (
            "\nmandatory = ['host-namespace']",
            (),
            'podplan.toml:2: mandatory: no rule has the code, prefix or name "host-namespace"',
        ),
        (
            "[[paths]]\nmatch = ['a']\nignore = ['NOPE']",
            (),
            'podplan.toml:1: ignore: no rule has the code, prefix or name "NOPE"',
        ),
        ("", ("--select", "NOPE"), '--select: no rule has the code, prefix or name "NOPE"'),
        (
            "",
            ("--severity", "SEC001=loud"),
            '--severity wants CODE=error, warning or info, not "SEC001=loud"',
        ),
        ("", ("--severity", "SEC001"), "--severity wants CODE=error, warning or info"),
        ("", ("--severity", "NOPE=info"), '--severity: no rule has the code, prefix or name "NOPE"'),
        ("", ("--baseline", "none.json"), "none.json: no such file"),
        ("", ("--baseline", "jobs"), "jobs: "),
        ("policies = ['nowhere']", (), 'podplan.toml:1: policies: there is no folder "nowhere"'),
        ("", ("--preset", "lax"), "Invalid value for '--preset'"),
    ],
)
def test_a_wrong_request(top: Path, text: str, flags: tuple[str, ...], said: str) -> None:
    write(top / "podplan.toml", text)
    write(top / "job.yaml", JOB)
    run = podplan("check", *flags, "job.yaml", cwd=top)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"podplan: {said}")


def test_render_reads_the_same_configuration(top: Path) -> None:
    write(top / "job.yaml", JOB.replace("  - type: main\n", "  - type: main\n    extra: 1\n"))
    assert podplan("lower", "job.yaml", cwd=top).code == 1
    write(top / "podplan.toml", "ignore = ['SCHEMA001']\nseverity = {SEC001 = 'error'}\n")
    run = podplan("lower", "job.yaml", cwd=top)
    assert (run.code, run.err) == (0, ""), "and what policies say keeps nothing from being rendered"


DOCS = Path(__file__).parents[1] / "docs"


def test_the_documentation_has_every_key_and_its_example_holds(top: Path) -> None:
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    schema = json.loads(package_data.read_bundled_file("schemas", "Config.json"))
    told = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert told == set(schema["properties"])
    assert set(DEFAULTS) | {"extend"} == told
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    write(top / "podplan.toml", example)
    write(top / "podplan-baseline.json", '{"format": 1, "findings": []}')
    write(top / "job.yaml", JOB)
    run = podplan("check", "--show-settings", "job.yaml", cwd=top)
    assert (run.code, run.err) == (0, "")
