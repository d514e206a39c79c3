"""Compares real objects with the predicted ones, part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from podplan.core.findings import Path
from podplan.core.path_syntax import index_by_key
from podplan.core.provenance import TracedDocument
from podplan.core.structural_diff import (
    ABSENT,
    Change,
    DiffRules,
    EntryIndexes,
    index_by_place,
    iter_changes,
)
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.list_keys import IDENTITY_KEYS
from podplan.tools.cluster_diff.object_matching import ObjectMatches, ObjectPair, PredictedObject
from podplan.tools.cluster_diff.server_additions import is_added, is_equal_value, is_omitted

_WORD_FIELDS = ("command", "args")
# Further keys to pair the remaining entries, whose usual keys differ.
_FALLBACK_KEYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "volumes": lambda entry: sorted(key for key in entry if key != "name"),
    "volumeMounts": lambda entry: entry.get("name"),
    "ports": lambda _: None,
}


class ObjectDifference(NamedTuple):
    """One part of one object that differs: the predicted and the real value; ABSENT for none.

    ``path`` is its path in the predicted object, or in the real one if nothing was predicted. ``order_only``
    is for a list with the same entries in another order: the values are their names. ``real_path`` is its
    path in the real object.
    """

    predicted_object: PredictedObject | None
    real_object: dict[str, Any] | None
    path: Path
    predicted: Any
    real: Any
    real_path: Path = ()
    order_only: bool = False

    @property
    def doc(self) -> TracedDocument | None:
        return self.predicted_object.group.doc if self.predicted_object is not None else None

    @property
    def kind(self) -> str:
        shown_object = self.predicted_object.object if self.predicted_object is not None else self.real_object
        assert shown_object is not None
        return str(shown_object["kind"])

    @property
    def name(self) -> str:
        """The predicted name; the real one of an object whose name the API server makes."""
        if self.predicted_object is not None:
            name = self.predicted_object.object["metadata"].get("name")
            if name or self.real_object is None:
                return str(name or self.predicted_object.name.removesuffix("-"))
        assert self.real_object is not None
        return str(self.real_object["metadata"].get("name", ""))


def find_differences(matches: ObjectMatches) -> list[ObjectDifference]:
    """Return all differences: of each pair, then missing objects, then objects that were not predicted."""
    return [
        *(difference for pair in matches.pairs for difference in compare_pair(pair)),
        *(ObjectDifference(one, None, (), one.object, ABSENT) for one in matches.missing_objects),
        *(ObjectDifference(None, one, (), ABSENT, one) for one in matches.extra_objects),
    ]


def compare_pair(pair: ObjectPair) -> Iterator[ObjectDifference]:
    """Yield the differences of one object."""
    kind = pair.predicted.kind

    def is_ignored(change: Change, container: Any) -> bool:
        if change.new is ABSENT:
            return is_omitted(change.old_path, change.old)
        return is_added(kind, change.new_path, change.new, container)

    rules = DiffRules(_index_entries, is_equal_value, _is_ordered, is_ignored, _expands)
    for change in iter_changes(pair.predicted.object, pair.real, rules):
        yield ObjectDifference(
            pair.predicted,
            pair.real,
            change.old_path,
            change.old,
            change.new,
            change.new_path,
            change.order_only,
        )


def compute_cost(difference: ObjectDifference) -> float:
    """Return a measure of how much differs: one for each difference, and a little more for each differing
    word."""
    if difference.path == ():
        return 2
    predicted_words, real_words = _count_words(difference.predicted), _count_words(difference.real)
    different_words = sum((predicted_words - real_words).values()) + sum(
        (real_words - predicted_words).values()
    )
    moved_words = 0.0
    if predicted_words == real_words:
        moved_words = sum(
            a != b
            for a, b in zip(_list_words(difference.predicted), _list_words(difference.real), strict=False)
        )
    return 1 + min(different_words + moved_words, 1000) / 1001


def _is_ordered(path: Path) -> bool:
    return path[-1:] == ("env",)


def _expands(change: Change) -> bool:
    """Whether a field that was not predicted is reported by its children: many are added by the cluster."""
    name, value = change.new_path[-1], change.new
    if change.new is ABSENT or isinstance(name, int):
        return False
    return isinstance(value, dict) or (name in IDENTITY_KEYS and isinstance(value, list))


def _index_entries(
    path: Path, predicted: list[Any], real: list[Any]
) -> tuple[EntryIndexes, EntryIndexes] | None:
    """Index by key, if the field has one; else by index, unless entries were added, removed or moved."""
    keys = IDENTITY_KEYS.get(str(path[-1])) if path else None
    if keys is None or not all(isinstance(entry, dict) for entry in (*predicted, *real)):
        is_moved = path[-1] in _WORD_FIELDS and _count_words(predicted) == _count_words(real)
        return None if len(predicted) != len(real) or is_moved else index_by_place(predicted, real)
    predicted_by_key, real_by_key = index_by_key(predicted, keys), index_by_key(real, keys)
    for key, real_key in list(
        _match_renamed_entries(str(path[-1]), predicted_by_key, real_by_key, predicted, real)
    ):
        real_by_key[key] = real_by_key.pop(real_key)
    return predicted_by_key, real_by_key


def _match_renamed_entries(
    name: str,
    predicted_by_key: dict[tuple[Any, ...], int],
    real_by_key: dict[tuple[Any, ...], int],
    predicted: list[Any],
    real: list[Any],
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yield the keys of paired entries that are equal except for their key."""
    get_fallback_key = _FALLBACK_KEYS.get(name)
    unmatched = [key for key in real_by_key if key not in predicted_by_key] if get_fallback_key else []
    for key, number in predicted_by_key.items():
        if get_fallback_key and key not in real_by_key:
            matching_key = next(
                (
                    one
                    for one in unmatched
                    if get_fallback_key(real[real_by_key[one]]) == get_fallback_key(predicted[number])
                ),
                None,
            )
            if matching_key is not None:
                unmatched.remove(matching_key)
                yield key, matching_key


def _count_words(value: Any) -> Counter[str]:
    """Count the words in a value, including keys."""
    if isinstance(value, dict):
        return Counter(
            word for key, below in value.items() for word in (str(key), *_count_words(below).elements())
        )
    if isinstance(value, list):
        return Counter(word for below in value for word in _count_words(below).elements())
    return Counter() if value is ABSENT else Counter(str(value).split())


def _list_words(value: Any) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else str(value).split()
