"""The kinds of the Kubeflow Training Operator 1.9: PyTorchJob and others, in kubeflow.org/v1."""
