"""Reads batches through loading processes, which hand them over in /dev/shm, and then trains."""

from __future__ import annotations

import sys

import torch
from torch.utils.data import DataLoader, Dataset
from trainer.ranks import prove

MEBIBYTE = 2**20


class Batches(Dataset[torch.Tensor]):  # type: ignore[misc]  # torch is not where mypy runs
    """Eight samples of 12 MiB."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((12 * MEBIBYTE,), index, dtype=torch.uint8)


if __name__ == "__main__":
    workers = int(sys.argv[1].partition("=")[2])
    seen = sum(int(batch[:, 0].sum()) for batch in DataLoader(Batches(), batch_size=4, num_workers=workers))
    assert seen == sum(range(8)), seen
    prove()
