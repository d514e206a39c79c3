"""Trains, but one rank fails the first time: ``python fail_once.py RANK MARKER``.

MARKER is a file that outlives the process; while it is missing, the rank makes it and ends with 3.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from trainer.ranks import prove


def fail_once(rank: int) -> None:
    marker = Path(sys.argv[2])
    if rank == int(sys.argv[1]) and not marker.exists():
        marker.touch()
        print("fails once", flush=True)
        os._exit(3)


if __name__ == "__main__":
    prove(fail_once)
