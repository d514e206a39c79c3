"""Runs lowered CRs with the real launchers: ``python -m tests.conformance``."""
