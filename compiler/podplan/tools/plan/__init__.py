"""The plan of a repository: which jobs its queues admit, and how all of them fit together."""
