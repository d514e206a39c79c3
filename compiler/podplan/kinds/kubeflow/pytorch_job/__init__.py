"""PyTorchJob of the Kubeflow Training Operator."""
