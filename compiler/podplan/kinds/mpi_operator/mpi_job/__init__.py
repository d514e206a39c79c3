"""MPIJob of the MPI Operator."""
