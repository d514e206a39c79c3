"""A module in a folder of its own."""

from trainer.ranks import prove as train

__all__ = ["train"]
