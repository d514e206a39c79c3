"""Adds to a variable of the parameter server from each worker; the hosts come from TF_CONFIG."""

from __future__ import annotations

import tensorflow as tf


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Serve the chief without end, as a worker or a parameter server."""
    tf.distribute.Server(
        resolver.cluster_spec(), resolver.task_type, resolver.task_id, protocol=resolver.rpc_layer or "grpc"
    ).join()


def lead(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Print a rank for each worker that added its one."""
    tf.config.experimental_connect_to_cluster(resolver, job_name="chief")
    world = resolver.cluster_spec().num_tasks("worker")
    with tf.device("/job:ps/task:0"):
        total = tf.Variable(0)
    for rank in range(world):
        with tf.device(f"/job:worker/task:{rank}"):
            total.assign_add(tf.constant(1))
        print(f"trained rank={int(total) - 1} world={world}", flush=True)


if __name__ == "__main__":
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    (lead if cluster.task_type == "chief" else serve)(cluster)
