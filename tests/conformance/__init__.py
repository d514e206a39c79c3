"""Runs what CRs lower to, with the real launchers: ``python -m tests.conformance``."""
