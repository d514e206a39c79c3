"""Declared kinds: a WorkloadMapping states where the Pod templates of a CRD are."""
