"""MPIJob of the Kubeflow Training Operator."""
