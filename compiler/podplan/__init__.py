"""podplan: training-job profiles to custom resources to the Pods that the cluster will run."""

__version__ = "0.1.0"
