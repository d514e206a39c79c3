"""Proof that the processes of a job train together."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist


def prove(before: Callable[[int], None] = lambda _: None) -> None:
    """Join the group and add up a one at the place of each rank: all ones prove that each rank ran once.

    ``before`` is called with the rank once all have met.
    """
    dist.init_process_group("gloo", timeout=timedelta(minutes=30))
    rank, world = dist.get_rank(), dist.get_world_size()
    # A store keeps each on its way until all are there, so that a process that fails leaves a group behind.
    dist.barrier()
    before(rank)
    ranks = torch.zeros(world, dtype=torch.int64)
    ranks[rank] = 1
    dist.all_reduce(ranks)
    assert ranks.tolist() == [1] * world, ranks.tolist()
    words = " ".join(sys.argv[1:])
    print(
        f"trained rank={rank} world={world} local={os.environ.get('LOCAL_RANK', '-')} args={words}",
        flush=True,
    )
    dist.barrier()
    dist.destroy_process_group()
