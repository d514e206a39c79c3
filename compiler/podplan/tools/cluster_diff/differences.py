"""Where a real object is not as predicted, part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from podplan.core.findings import Path
from podplan.core.path_syntax import index_by_key
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any, NamedTuple
from podplan.tools.cluster_diff.object_matching import ObjectMatches, ObjectPair, PredictedObject
from podplan.tools.cluster_diff.server_additions import is_added, is_equal_value, is_omitted


class AbsentValue:
    """The one value of what is not there."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = AbsentValue()
_WORD_FIELDS = ("command", "args")
# What tells the entries of a list apart, where the order of the list says nothing, or little.
_LIST_KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("name",),
    "imagePullSecrets": ("name",),
    "ownerReferences": ("kind", "name"),
    "tolerations": ("key", "operator", "value", "effect"),
}
# What else tells that two entries are one, of those that are left: they differ in what is their key.
_FALLBACK_KEYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "volumes": lambda entry: sorted(key for key in entry if key != "name"),
    "volumeMounts": lambda entry: entry.get("name"),
    "ports": lambda _: None,
}


class ObjectDifference(NamedTuple):
    """One part of one object: what was predicted of it, and what it really is; ABSENT for nothing.

    ``path`` is where it stands in the predicted object, or in the real one where nothing was predicted.
    ``ordered`` is for a list that has the same entries in another order: the values are their names.
    ``real_path`` is where it stands in the real one.
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
        shown_object = self.predicted_object.object if self.predicted_object is not None else self.real_object
        assert shown_object is not None
        return str(shown_object["metadata"]["name"])


def find_differences(matches: ObjectMatches) -> list[ObjectDifference]:
    """All differences: of each pair, then what is not there, then what was not predicted."""
    return [
        *(difference for pair in matches.pairs for difference in compare_pair(pair)),
        *(ObjectDifference(one, None, (), one.object, ABSENT) for one in matches.missing_objects),
        *(ObjectDifference(None, one, (), ABSENT, one) for one in matches.extra_objects),
    ]


def compare_pair(pair: ObjectPair) -> Iterator[ObjectDifference]:
    """The differences of one object."""
    for path, real_path, predicted, real, order_only in _compare_values(
        pair, (), (), pair.predicted.object, pair.real
    ):
        yield ObjectDifference(pair.predicted, pair.real, path, predicted, real, real_path, order_only)


def compute_cost(difference: ObjectDifference) -> float:
    """How much differs: one for each difference, and a little more for each word that does."""
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


_RawDifference = tuple[Path, Path, Any, Any, bool]


def _compare_values(
    pair: ObjectPair, path: Path, real_path: Path, predicted: Any, real: Any
) -> Iterator[_RawDifference]:
    kind = pair.predicted.kind
    if isinstance(predicted, dict) and isinstance(real, dict):
        for key, value in predicted.items():
            if key in real:
                yield from _compare_values(pair, (*path, key), (*real_path, key), value, real[key])
            elif not is_omitted((*path, key), value):
                yield (*path, key), (*real_path, key), value, ABSENT, False
        for key, value in real.items():
            if key in predicted or is_added(kind, (*real_path, key), value, real):
                continue
            if isinstance(value, dict) or (key in _LIST_KEYS and isinstance(value, list)):
                yield from _compare_values(pair, (*path, key), (*real_path, key), type(value)(), value)
            else:
                yield (*path, key), (*real_path, key), ABSENT, value, False
    elif isinstance(predicted, list) and isinstance(real, list):
        yield from _compare_lists(pair, path, real_path, predicted, real)
    elif not is_equal_value(path, predicted, real):
        yield path, real_path, predicted, real, False


def _compare_lists(
    pair: ObjectPair, path: Path, real_path: Path, predicted: list[Any], real: list[Any]
) -> Iterator[_RawDifference]:
    keys = _LIST_KEYS.get(str(path[-1])) if path else None
    if keys is None or not all(isinstance(entry, dict) for entry in (*predicted, *real)):
        if len(predicted) != len(real) or (
            path[-1] in _WORD_FIELDS and _count_words(predicted) == _count_words(real)
        ):
            if predicted != real:
                yield path, real_path, predicted, real, False
            return
        for number, (predicted_keys, real_key) in enumerate(zip(predicted, real, strict=True)):
            yield from _compare_values(pair, (*path, number), (*real_path, number), predicted_keys, real_key)
        return
    predicted_by_key, real_by_key = index_by_key(predicted, keys), index_by_key(real, keys)
    for key, real_key in list(
        _match_renamed_entries(str(path[-1]), predicted_by_key, real_by_key, predicted, real)
    ):
        real_by_key[key] = real_by_key.pop(real_key)
    for key, number in predicted_by_key.items():
        if key in real_by_key:
            real_key = real_by_key[key]
            yield from _compare_values(
                pair, (*path, number), (*real_path, real_key), predicted[number], real[real_key]
            )
        else:
            yield (*path, number), real_path, predicted[number], ABSENT, False
    for key, number in real_by_key.items():
        if key not in predicted_by_key and not is_added(
            pair.predicted.kind, (*real_path, number), real[number], real
        ):
            yield (*path, number), (*real_path, number), ABSENT, real[number], False
    if path[-1] == "env":
        predicted_keys, real_key = (
            [key for key in predicted_by_key if key in real_by_key],
            [key for key in real_by_key if key in predicted_by_key],
        )
        if predicted_keys != real_key:
            yield (
                path,
                real_path,
                [str(key[0]) for key in predicted_keys],
                [str(key[0]) for key in real_key],
                True,
            )


def _match_renamed_entries(
    name: str,
    predicted_by_key: dict[tuple[Any, ...], int],
    real_by_key: dict[tuple[Any, ...], int],
    predicted: list[Any],
    real: list[Any],
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The keys of entries that are one but for their key."""
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
    """The words in a value, keys included."""
    if isinstance(value, dict):
        return Counter(
            word for key, below in value.items() for word in (str(key), *_count_words(below).elements())
        )
    if isinstance(value, list):
        return Counter(word for below in value for word in _count_words(below).elements())
    return Counter() if value is ABSENT else Counter(str(value).split())


def _list_words(value: Any) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else str(value).split()
