"""PaddleJob of the Kubeflow Training Operator."""
