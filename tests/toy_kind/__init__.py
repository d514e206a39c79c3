"""A kind of job that no controller has: the whole of what a new kind needs, for tests/test_toy_kind.py."""
