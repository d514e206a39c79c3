"""What the cluster offers, as objects in the repository state it, and what Kueue does with jobs there."""
