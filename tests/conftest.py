"""Every run of the tests tries the same examples, so that green means green for everybody."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
