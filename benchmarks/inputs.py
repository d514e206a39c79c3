"""The inputs as files: all from one seed, so that every run measures the same bytes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import yaml

from benchmarks.crs import cr
from benchmarks.profiles import BASE, INVENTORY, alone, fan_out, profile, sites, wide

SEED = 20_26
# What programs that start over ssh as root cannot have; a repository that knows that says so once.
CONFIG = 'ignore = ["SEC014", "SEC015", "SEC017", "SEC018"]\n'


def text(tree: dict[str, Any]) -> str:
    """A document as people write it: keys in their order."""
    return yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False)


def crs(folder: Path, number: int, replicas: int = 8, quiet: bool = True) -> Path:
    """So many CRs, one in a file; with ``quiet`` in a repository that keeps what is only advice off."""
    random = Random(SEED)
    made = (text(cr(n, random, replicas)) for n in range(number))
    return _written(folder, made, {"podplan.toml": CONFIG} if quiet else {})


def profiles(folder: Path, number: int, with_base: bool = True) -> Path:
    """So many profiles, one in a file, that share a base and an inventory; or ``alone``, with neither."""
    random = Random(SEED)
    made = (text((profile if with_base else alone)(n, random)) for n in range(number))
    shared = {"base.yaml": text(BASE), "inventory.yaml": text(INVENTORY)} if with_base else {}
    return _written(folder, made, {"podplan.toml": CONFIG, **shared})


def sweep(folder: Path, environments: int, axis: int) -> Path:
    """One profile under many environments and matrix instances."""
    shared = {"base.yaml": text(BASE), "inventory.yaml": text(INVENTORY), "podplan.toml": CONFIG}
    return _written(folder, [text(fan_out(environments, axis))], shared)


def sweeps(folder: Path, number: int, instances: int, variables: int) -> Path:
    """A few profiles with many instances of many environment variables."""
    made = (text(wide(n, instances, variables)) for n in range(number))
    return _written(folder, made, {"base.yaml": text(BASE), "inventory.yaml": text(INVENTORY)})


def in_environments(folder: Path, number: int, environments: int) -> Path:
    """So many profiles, one in a file, each under so many environments."""
    random = Random(SEED)
    made = (profile(n, random) for n in range(number))
    with_sites = (text({**one, "spec": {**one["spec"], "environments": sites(environments)}}) for one in made)
    return _written(folder, with_sites, {"base.yaml": text(BASE), "inventory.yaml": text(INVENTORY)})


def _written(folder: Path, documents: Any, shared: dict[str, str]) -> Path:
    (folder / ".git").mkdir(parents=True)  # the root, without which every folder is one of its own
    for name, content in shared.items():
        (folder / name).write_text(content, encoding="utf-8")
    for number, document in enumerate(documents):
        (folder / f"job-{number:05}.yaml").write_text(document, encoding="utf-8")
    return folder
