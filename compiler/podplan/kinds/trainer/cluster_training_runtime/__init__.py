"""ClusterTrainingRuntime of trainer.kubeflow.org/v1alpha1."""
