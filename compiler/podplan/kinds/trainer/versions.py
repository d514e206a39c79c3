"""What differs between the versions of Trainer.

2.1 and 2.3 were seen, 2.2 is as its source says: docs/evidence/trainer.md#versions.
"""

from __future__ import annotations

from podplan.core.typing import NamedTuple

DEFAULT_VERSION = "2.3"


class Version(NamedTuple):
    """What a version of Trainer does.

    ``job_set`` is the version of JobSet that it is released with, ``policies`` are those of runtimes.
    ``has_patches``: a TrainJob changes its runtime with runtimePatches, else with podTemplateOverrides,
    labels and annotations. ``adds_patched_jobs``: a patch of a job that the runtime does not have adds it.
    ``reads_values``: arguments of torchtune count by their values, and are validated; else by their names.
    ``injects_variables``: a torch runtime names further containers that get the variables.
    ``has_process_words``: numProcPerNode may be auto, cpu or gpu, and a torch runtime may state it.
    ``has_last_word``: the variables of trainer replace those of the controller. ``has_claims``: its
    JobSet creates volume claims. ``sums_runtime``: a PodGroup sums the resources that the runtime states, not
    those of the TrainJob. ``shares_memory_of_flux``: the nodes of Flux get /dev/shm, and the scripts their
    resources.
    """

    job_set: str = "0.12"
    policies: tuple[str, ...] = ("torch", "mpi", "jax", "xgboost", "flux")
    has_snapshot: bool = True
    merges_resources: bool = True
    has_key_modes: bool = True
    reads_values: bool = True
    injects_variables: bool = True
    needs_initializer_volume: bool = True
    adds_patched_jobs: bool = True
    has_patches: bool = True
    has_process_words: bool = False
    has_last_word: bool = False
    has_claims: bool = True
    sums_runtime: bool = False
    shares_memory_of_flux: bool = True


_V22 = Version(
    job_set="0.11",
    has_snapshot=False,
    merges_resources=False,
    has_key_modes=False,
    reads_values=False,
    injects_variables=False,
    needs_initializer_volume=False,
    adds_patched_jobs=False,
    shares_memory_of_flux=False,
)
VERSIONS = {
    DEFAULT_VERSION: Version(),
    "2.2": _V22,
    "2.1": _V22._replace(
        job_set="0.10",
        policies=("torch", "mpi"),
        has_patches=False,
        has_process_words=True,
        has_last_word=True,
        has_claims=False,
        sums_runtime=True,
    ),
}
