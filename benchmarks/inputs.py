"""Writes the inputs as files: all from one seed, so that every run measures the same bytes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import yaml

from benchmarks.crs import cr
from benchmarks.profiles import BASE, INVENTORY, alone, fan_out, profile, sites, wide

SEED = 20_26
# Rules that programs which start over ssh as root cannot fulfil; a real repository disables them.
CONFIG = 'ignore = ["SEC014", "SEC015", "SEC017", "SEC018"]\n'


def text(tree: dict[str, Any]) -> str:
    """Format a document with its keys in the given order."""
    return yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False)


# The rules that only give advice about security.
LOUD_CONFIG = 'preset = "strict"\n'


def crs(folder: Path, number: int, replicas: int = 8, quiet: bool = True) -> Path:
    """Write ``number`` CRs, one per file; with ``quiet`` the repository disables rules that only give
    advice."""
    random = Random(SEED)
    made = (text(cr(n, random, replicas)) for n in range(number))
    return _written(folder, made, {"podplan.toml": CONFIG if quiet else LOUD_CONFIG})


def profiles(folder: Path, number: int, with_base: bool = True) -> Path:
    """Write ``number`` profiles, one per file, with a common base and inventory unless ``with_base`` is
    false."""
    random = Random(SEED)
    made = (text((profile if with_base else alone)(n, random)) for n in range(number))
    shared = {"base.yaml": text(BASE), "inventory.yaml": text(INVENTORY)} if with_base else {}
    return _written(folder, made, {"podplan.toml": CONFIG, **shared})


def sweep(folder: Path, environments: int, axis: int) -> Path:
    """Write one profile with many environments and matrix instances."""
    shared = {"base.yaml": text(BASE), "inventory.yaml": text(INVENTORY), "podplan.toml": CONFIG}
    return _written(folder, [text(fan_out(environments, axis))], shared)


def sweeps(folder: Path, number: int, instances: int, variables: int) -> Path:
    """Write a few profiles with many instances of many environment variables."""
    made = (text(wide(n, instances, variables)) for n in range(number))
    return _written(folder, made, {"base.yaml": text(BASE), "inventory.yaml": text(INVENTORY)})


def in_environments(folder: Path, number: int, environments: int) -> Path:
    """Write ``number`` profiles, one per file, each with ``environments`` environments."""
    random = Random(SEED)
    made = (profile(n, random) for n in range(number))
    with_sites = (text({**one, "spec": {**one["spec"], "environments": sites(environments)}}) for one in made)
    return _written(folder, with_sites, {"base.yaml": text(BASE), "inventory.yaml": text(INVENTORY)})


def _written(folder: Path, documents: Any, shared: dict[str, str]) -> Path:
    (folder / ".git").mkdir(parents=True)  # the root; without it, every folder would be a separate one
    for name, content in shared.items():
        (folder / name).write_text(content, encoding="utf-8")
    for number, document in enumerate(documents):
        (folder / f"job-{number:05}.yaml").write_text(document, encoding="utf-8")
    return folder
