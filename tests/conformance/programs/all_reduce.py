"""Adds up a one at the place of each rank: all ones prove that each rank ran once."""

from __future__ import annotations

import os
from datetime import timedelta

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo", timeout=timedelta(minutes=30))
    rank, world = dist.get_rank(), dist.get_world_size()
    ranks = torch.zeros(world, dtype=torch.int64)
    ranks[rank] = 1
    dist.all_reduce(ranks)
    assert ranks.tolist() == [1] * world, ranks.tolist()
    print(f"trained rank={rank} world={world} local={os.environ.get('LOCAL_RANK', '-')}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
