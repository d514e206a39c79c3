"""Trains; ``python -m trainer.train``."""

from __future__ import annotations

from .ranks import prove

if __name__ == "__main__":
    prove()
