"""Adds a one of each process with JAX, by the variables that the operator sets."""

from __future__ import annotations

import os

import jax
import jax.numpy as jnp
from jax.experimental.multihost_utils import process_allgather

if __name__ == "__main__":
    given = os.environ
    jax.distributed.initialize(
        f"{given['COORDINATOR_ADDRESS']}:{given['COORDINATOR_PORT']}",
        int(given["NUM_PROCESSES"]),
        int(given["PROCESS_ID"]),
    )
    world = jax.process_count()
    total = process_allgather(jnp.ones(())).sum()
    assert int(total) == world, total
    print(f"trained rank={jax.process_index()} world={world}", flush=True)
