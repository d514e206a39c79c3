"""What is known of the cluster: facts of the repository with their lines, and an inventory from a dump."""
