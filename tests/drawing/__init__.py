"""podplan graph."""

import pytest

pytest.register_assert_rewrite("tests.drawing.sound")  # for detailed messages of its assertions
