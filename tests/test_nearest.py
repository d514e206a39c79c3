"""The name that was probably meant."""

from __future__ import annotations

from functools import partial

from podplan.core.suggestions import suggest_name
from tests.work_counts import work

FIELDS = ("configMap", "emptyDir", "hostPath", "mount", "name", "pvc", "readOnly", "secret", "subPath")


def test_the_nearest_name_whatever_the_order_and_the_case() -> None:
    assert suggest_name("ReadOnyl", FIELDS) == suggest_name("READONYL", reversed(FIELDS)) == "readOnly"
    assert suggest_name("readOnyl", ("READONLY", "name")) == "READONLY"
    assert suggest_name("readOnyl", ("name",)) == ""
    assert suggest_name("readOnyl", ()) == ""


def test_a_name_that_is_wrong_in_each_of_many_entries_is_compared_once() -> None:
    """Of 20,000 volumes with a field that there is not, comparing names was 40 % of the work."""
    first, again = (work(partial(suggest_name, "subPathh", FIELDS)) for _ in range(2))
    assert again < 15 < 100 < first
