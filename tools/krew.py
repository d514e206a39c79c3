"""Writes the archives of the kubectl plugin and their krew manifest to build/krew: `make krew`.

An archive has podplan and what is locked, from wheels of all supported versions of Python for one platform:
their compiled modules have the version in their names, so they fit into one folder.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "deploy" / "krew"
OUTPUT = ROOT / "build" / "krew"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# The platform of krew, and those of wheels that run there.
PLATFORMS = {
    "linux-amd64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "darwin-amd64": tuple(f"macosx_10_{minor}_x86_64" for minor in range(15, 8, -1)),
    "darwin-arm64": ("macosx_11_0_arm64",),
}


def main(platforms: list[str]) -> int:
    """Write the archives of some platforms, or of all with the manifest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    [wheel] = (ROOT / "build" / "dist").glob("podplan-*.whl")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    manifest = (TEMPLATES / "podplan.yaml").read_text("utf-8").partition("apiVersion:")
    text = "".join(manifest[1:]).replace("REPOSITORY", project["urls"]["Source"])
    text = text.replace("VERSION", project["version"])
    for platform in platforms or PLATFORMS:
        with tempfile.TemporaryDirectory() as folder:
            _install(wheel, PLATFORMS[platform], Path(folder))
            archive = _pack(Path(folder))
        (OUTPUT / f"kubectl-podplan-{platform}.tar.gz").write_bytes(archive)
        text = text.replace(f"sha256: {platform}", f"sha256: {hashlib.sha256(archive).hexdigest()}")
    if not platforms:
        (OUTPUT / "podplan.yaml").write_text(text, "utf-8")
    return 0


def select_runtime(lock: str) -> str:
    """Return the entries of a lock that podplan needs to run: not those of the group ``lock``."""
    entries = {entry.split("==")[0]: entry for entry in re.split(r"^(?=[a-z])", lock, flags=re.MULTILINE)[1:]}
    selected = {name for name, entry in entries.items() if "via podplan (pyproject.toml)\n" in entry}
    while more := {
        name
        for name, entry in entries.items()
        if name not in selected and selected & set(re.findall(r"# (?: *via )?([\w-]+)$", entry, re.MULTILINE))
    }:
        selected |= more
    return "".join(entry for name, entry in entries.items() if name in selected)


def _install(wheel: Path, platforms: tuple[str, ...], folder: Path) -> None:
    """Install the locked wheels and podplan into ``folder``/lib."""
    lock = folder / "requirements.lock"
    lock.write_text(select_runtime((ROOT / "deploy" / "requirements.lock").read_text("utf-8")), "utf-8")
    pip = [sys.executable, "-I", "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    for python in PYTHONS:
        target = folder / python
        options = [f"--platform={one}" for one in platforms]
        options += ["--only-binary=:all:", f"--python-version={python}", f"--target={target}"]
        subprocess.run([*pip, *options, "--require-hashes", "--requirement", str(lock)], check=True)
        shutil.copytree(target, folder / "lib", dirs_exist_ok=True)
    subprocess.run([*pip, f"--target={folder / 'wheel'}", str(wheel)], check=True)
    shutil.copytree(folder / "wheel", folder / "lib", dirs_exist_ok=True)
    shutil.rmtree(folder / "lib" / "bin")


def _pack(folder: Path) -> bytes:
    """Return the archive of a folder; the same files give the same bytes."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for path, name in _iter_files(folder):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = path.stat().st_size, 0o755 if name == "kubectl-podplan" else 0o644
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return buffer.getvalue()


def _iter_files(folder: Path) -> Iterator[tuple[Path, str]]:
    yield TEMPLATES / "kubectl-podplan", "kubectl-podplan"
    yield ROOT / "LICENSE", "LICENSE"
    for path in sorted((folder / "lib").rglob("*")):
        # direct_url.json and RECORD name the folder of the build.
        if path.is_file() and path.name not in ("direct_url.json", "RECORD", "INSTALLER", "REQUESTED"):
            yield path, str(path.relative_to(folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
