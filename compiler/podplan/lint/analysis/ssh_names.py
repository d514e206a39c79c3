"""Variables that nobody has to hand on to other hosts."""

from __future__ import annotations

from podplan.core.lazy_regex import pattern

_OF_THE_RUNTIME = pattern(r"(?:NVIDIA|HABANA|AMD)_(?:VISIBLE|DRIVER|REQUIRE)")
_OF_OPEN_MPI = pattern(r"OMPI_|PMIX_|PRTE_|PMI_")


def of_the_runtime(name: str) -> bool:
    """Whether the container runtime reads a variable, and not the training."""
    return _OF_THE_RUNTIME.match(name) is not None


def handed_on_by_itself(name: str) -> bool:
    """Whether Open MPI hands a variable on without being told, or no process needs it."""
    return of_the_runtime(name) or _OF_OPEN_MPI.match(name) is not None
