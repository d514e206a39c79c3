"""XGBoostJob of the Kubeflow Training Operator."""
