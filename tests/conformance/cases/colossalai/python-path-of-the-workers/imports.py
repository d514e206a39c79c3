"""Trains by a module that only PYTHONPATH leads to."""

from of_ours import train

train()
