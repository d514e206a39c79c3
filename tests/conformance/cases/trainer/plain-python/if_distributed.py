"""Trains with others if RANK and WORLD_SIZE say so, and alone if not, as scripts for PyTorchJob do."""

from __future__ import annotations

import os

from trainer.ranks import prove

if __name__ == "__main__":
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        prove()
    else:
        print("trained rank=0 world=1", flush=True)
