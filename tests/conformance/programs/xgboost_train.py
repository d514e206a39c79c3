"""Trains with XGBoost; the replica of rank 0 runs the tracker at the address that all are given."""

from __future__ import annotations

import os
from threading import Thread

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker


def prove(address: str, port: int, rank: int, world: int) -> None:
    """Train a tree on rows that differ by rank, and print the rank that was given by the job."""
    if rank == 0:
        tracker = RabitTracker(n_workers=world, host_ip="0.0.0.0", port=port, sortby="task")
        tracker.start()
        Thread(target=tracker.wait_for, daemon=True).start()
    with collective.CommunicatorContext(
        dmlc_tracker_uri=address, dmlc_tracker_port=port, dmlc_task_id=str(rank), dmlc_retry=30
    ):
        assert collective.get_world_size() == world
        total = collective.allreduce(np.ones(1), collective.Op.SUM)
        assert int(total[0]) == world, total
        rows = np.random.default_rng(rank).random((32, 4))
        xgb.train({"max_depth": 2}, xgb.DMatrix(rows, label=rows[:, 0]), num_boost_round=2)
        print(f"trained rank={rank} world={world}", flush=True)


if __name__ == "__main__":
    given = os.environ
    prove(given["MASTER_ADDR"], int(given["MASTER_PORT"]), int(given["RANK"]), int(given["WORLD_SIZE"]))
