"""Kinds that a repository declares: a WorkloadMapping says where the Pod templates of a CRD are."""
