"""Variables that need not be forwarded to other hosts."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily

_RUNTIME_VARIABLE = compile_lazily(r"(?:NVIDIA|HABANA|AMD)_(?:VISIBLE|DRIVER|REQUIRE)")
_OPEN_MPI_VARIABLE = compile_lazily(r"OMPI_|PMIX_|PRTE_|PMI_|I_MPI_|HYDRA_|K_MPI_JOB_ROLE$")


def is_runtime_variable(name: str) -> bool:
    """Whether the container runtime reads a variable, and not the training."""
    return _RUNTIME_VARIABLE.match(name) is not None


def is_exported_automatically(name: str) -> bool:
    """Whether Open MPI exports a variable without an option, or only a launcher reads it."""
    return is_runtime_variable(name) or _OPEN_MPI_VARIABLE.match(name) is not None
