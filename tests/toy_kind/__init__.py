"""A kind of job without a controller: everything that a new kind needs, for tests/test_toy_kind.py."""
