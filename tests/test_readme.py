"""README.md: its commands print what it shows, and its picture is what podplan draws."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.command import podplan

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    return README.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command line as a shell runs it, with the podplan that is under test."""
    script = f'podplan() {{ "{sys.executable}" -m podplan "$@"; }}\n{command}\n'
    return subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


def custom_resource() -> str:
    return blocks(section("Check your own job"), "yaml")[0]


def test_the_picture_and_the_finding_are_of_the_custom_resource_below(tmp_path: Path) -> None:
    (tmp_path / "bert.yaml").write_text(custom_resource())
    [(command, printed)] = commands(blocks(README.read_text(), "console")[0])
    done = podplan(*command.split()[1:], cwd=tmp_path)
    assert (done.code, done.out) == (0, printed)
    assert podplan("graph", "bert.yaml", "-o", "bert.svg", cwd=tmp_path).code == 0
    [picture] = re.findall(r"^!\[.*\]\((.*\.svg)\)$", README.read_text(), re.MULTILINE)
    assert (tmp_path / "bert.svg").read_bytes() == (ROOT / picture).read_bytes()


def run_section(title: str, folder: Path) -> tuple[Path, int]:
    """Runs the commands of a section: the folder they end in, and how many outputs were compared."""
    compared = 0
    for block in blocks(section(title), "console"):
        for command, printed in commands(block):
            if command.startswith("cd "):
                folder = folder / command.removeprefix("cd ")
                continue
            done = run(command, folder)
            assert done.returncode == 0, done.stderr
            if printed:
                assert done.stdout == printed
                compared += 1
    return folder, compared


def test_the_commands_for_a_custom_resource(tmp_path: Path) -> None:
    (tmp_path / "bert.yaml").write_text(custom_resource())
    assert run_section("Check your own job", tmp_path) == (tmp_path, 1)


def test_the_commands_for_profiles(tmp_path: Path) -> None:
    folder, compared = run_section("Write profiles", tmp_path)
    assert compared == 1
    [profile] = blocks(section("Write profiles"), "yaml")
    assert (folder / "jobs" / "resnet.yaml").read_text().partition("\n")[2] == profile


def test_init_writes_nothing_over(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "resnet.yaml").write_text("mine\n")
    done = podplan("init", tmp_path)
    assert done.code == 2
    assert "is there already" in done.err
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["resnet.yaml"]


def test_what_init_suggests_works_outside_of_a_repository(tmp_path: Path) -> None:
    done = podplan("init", "my", cwd=tmp_path)
    assert done.code == 0
    assert done.err.endswith("next: cd my; podplan check; podplan lower -e dev jobs/resnet.yaml\n")
    for arguments in (("check",), ("check", "jobs"), ("lower", "-e", "dev", "jobs/resnet.yaml")):
        assert podplan(*arguments, cwd=tmp_path / "my").code == 0
    assert podplan("lower", "-e", "dev", "my/jobs/resnet.yaml", cwd=tmp_path).code == 0
