"""Where a real object is not as predicted, part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from podplan.core.findings import Path
from podplan.core.path_syntax import by_key
from podplan.core.provenance import Doc
from podplan.core.typing import Any, NamedTuple
from podplan.tools.cluster_diff.object_matching import Matched, Pair, Predicted
from podplan.tools.cluster_diff.server_additions import equal, is_added, is_omitted


class Absent:
    """The one value of what is not there."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()
_WORDS = ("command", "args")
# What tells the entries of a list apart, where the order of the list says nothing, or little.
_KEYS: dict[str, tuple[str, ...]] = {
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
_ALIKE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "volumes": lambda entry: sorted(key for key in entry if key != "name"),
    "volumeMounts": lambda entry: entry.get("name"),
    "ports": lambda _: None,
}


class Difference(NamedTuple):
    """One part of one object: what was predicted of it, and what it really is; ABSENT for nothing.

    ``path`` is where it stands in the predicted object, or in the real one where nothing was predicted.
    ``ordered`` is for a list that has the same entries in another order: the values are their names.
    ``real_path`` is where it stands in the real one.
    """

    predicted_in: Predicted | None
    real_in: dict[str, Any] | None
    path: Path
    predicted: Any
    real: Any
    real_path: Path = ()
    ordered: bool = False

    @property
    def doc(self) -> Doc | None:
        return self.predicted_in.group.doc if self.predicted_in is not None else None

    @property
    def kind(self) -> str:
        whole = self.predicted_in.object if self.predicted_in is not None else self.real_in
        assert whole is not None
        return str(whole["kind"])

    @property
    def name(self) -> str:
        whole = self.predicted_in.object if self.predicted_in is not None else self.real_in
        assert whole is not None
        return str(whole["metadata"]["name"])


def differences(found: Matched) -> list[Difference]:
    """All differences: of each pair, then what is not there, then what was not predicted."""
    return [
        *(difference for pair in found.pairs for difference in of_pair(pair)),
        *(Difference(one, None, (), one.object, ABSENT) for one in found.missing),
        *(Difference(None, one, (), ABSENT, one) for one in found.extra),
    ]


def of_pair(pair: Pair) -> Iterator[Difference]:
    """The differences of one object."""
    for path, real_path, predicted, real, ordered in _compared(
        pair, (), (), pair.predicted.object, pair.real
    ):
        yield Difference(pair.predicted, pair.real, path, predicted, real, real_path, ordered)


def cost(difference: Difference) -> float:
    """How much differs: one for each difference, and a little more for each word that does."""
    if difference.path == ():
        return 2
    one, other = _tokens(difference.predicted), _tokens(difference.real)
    apart = sum((one - other).values()) + sum((other - one).values())
    placed = 0.0
    if one == other:
        placed = sum(
            a != b for a, b in zip(_listed(difference.predicted), _listed(difference.real), strict=False)
        )
    return 1 + min(apart + placed, 1000) / 1001


_Found = tuple[Path, Path, Any, Any, bool]


def _compared(pair: Pair, path: Path, at: Path, predicted: Any, real: Any) -> Iterator[_Found]:
    kind = pair.predicted.kind
    if isinstance(predicted, dict) and isinstance(real, dict):
        for key, value in predicted.items():
            if key in real:
                yield from _compared(pair, (*path, key), (*at, key), value, real[key])
            elif not is_omitted((*path, key), value):
                yield (*path, key), (*at, key), value, ABSENT, False
        for key, value in real.items():
            if key in predicted or is_added(kind, (*at, key), value, real):
                continue
            if isinstance(value, dict) or (key in _KEYS and isinstance(value, list)):
                yield from _compared(pair, (*path, key), (*at, key), type(value)(), value)
            else:
                yield (*path, key), (*at, key), ABSENT, value, False
    elif isinstance(predicted, list) and isinstance(real, list):
        yield from _compared_lists(pair, path, at, predicted, real)
    elif not equal(path, predicted, real):
        yield path, at, predicted, real, False


def _compared_lists(
    pair: Pair, path: Path, at: Path, predicted: list[Any], real: list[Any]
) -> Iterator[_Found]:
    keys = _KEYS.get(str(path[-1])) if path else None
    if keys is None or not all(isinstance(entry, dict) for entry in (*predicted, *real)):
        if len(predicted) != len(real) or (path[-1] in _WORDS and _tokens(predicted) == _tokens(real)):
            if predicted != real:
                yield path, at, predicted, real, False
            return
        for number, (one, other) in enumerate(zip(predicted, real, strict=True)):
            yield from _compared(pair, (*path, number), (*at, number), one, other)
        return
    ours, theirs = by_key(predicted, keys), by_key(real, keys)
    for key, other in list(_alike(str(path[-1]), ours, theirs, predicted, real)):
        theirs[key] = theirs.pop(other)
    for key, number in ours.items():
        if key in theirs:
            other = theirs[key]
            yield from _compared(pair, (*path, number), (*at, other), predicted[number], real[other])
        else:
            yield (*path, number), at, predicted[number], ABSENT, False
    for key, number in theirs.items():
        if key not in ours and not is_added(pair.predicted.kind, (*at, number), real[number], real):
            yield (*path, number), (*at, number), ABSENT, real[number], False
    if path[-1] == "env":
        one, other = [key for key in ours if key in theirs], [key for key in theirs if key in ours]
        if one != other:
            yield path, at, [str(key[0]) for key in one], [str(key[0]) for key in other], True


def _alike(
    name: str,
    ours: dict[tuple[Any, ...], int],
    theirs: dict[tuple[Any, ...], int],
    predicted: list[Any],
    real: list[Any],
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The keys of entries that are one but for their key."""
    same = _ALIKE.get(name)
    left = [key for key in theirs if key not in ours] if same else []
    for key, number in ours.items():
        if same and key not in theirs:
            found = next((one for one in left if same(real[theirs[one]]) == same(predicted[number])), None)
            if found is not None:
                left.remove(found)
                yield key, found


def _tokens(value: Any) -> Counter[str]:
    """The words in a value, keys included."""
    if isinstance(value, dict):
        return Counter(
            word for key, below in value.items() for word in (str(key), *_tokens(below).elements())
        )
    if isinstance(value, list):
        return Counter(word for below in value for word in _tokens(below).elements())
    return Counter() if value is ABSENT else Counter(str(value).split())


def _listed(value: Any) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else str(value).split()
