"""The plan of a repository: which jobs its queues admit, and whether their sums fit the quotas."""
