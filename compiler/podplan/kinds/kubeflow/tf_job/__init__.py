"""TFJob of the Kubeflow Training Operator."""
