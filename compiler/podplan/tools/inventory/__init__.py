"""Facts about the cluster from objects in the repository, and an inventory from a dump."""
