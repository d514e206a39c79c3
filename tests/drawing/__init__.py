"""podplan graph."""

import pytest

pytest.register_assert_rewrite("tests.drawing.sound")  # what fails there says what it compared
