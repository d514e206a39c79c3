"""Kinds of the MPI Operator: MPIJob of kubeflow.org/v2beta1."""
