"""Kubeflow Trainer: TrainJobs and the runtimes that they refer to."""
