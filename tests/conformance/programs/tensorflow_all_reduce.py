"""Adds a one of each replica with TensorFlow, which takes the others from TF_CONFIG."""

from __future__ import annotations

import tensorflow as tf


def prove() -> None:
    """Print the rank if the sum over all replicas is their number."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    resolver = strategy.cluster_resolver
    world = strategy.num_replicas_in_sync
    ones = strategy.run(lambda: tf.constant(1))
    total = strategy.reduce(tf.distribute.ReduceOp.SUM, ones, axis=None)
    assert int(total) == world, (total, world)
    # Rank as MultiWorkerMirroredStrategy counts: the chief, then the workers.
    chiefs = len(resolver.cluster_spec().as_dict().get("chief", ()))
    rank = resolver.task_id + (chiefs if resolver.task_type == "worker" else 0)
    print(f"trained rank={rank} world={world} as {resolver.task_type} {resolver.task_id}", flush=True)


if __name__ == "__main__":
    prove()
