"""JAXJob of the Kubeflow Training Operator."""
