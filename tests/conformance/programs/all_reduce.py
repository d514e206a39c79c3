"""Trains; ``python all_reduce.py``."""

from __future__ import annotations

from trainer.ranks import prove

if __name__ == "__main__":
    prove()
