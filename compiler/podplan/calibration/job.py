"""A job as calibration sees it: lowered with some settings, and compared with what is really there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from podplan import kinds
from podplan.calibration.differences import Difference, cost, differences
from podplan.calibration.dump import Object
from podplan.calibration.matching import Matched, Pair, Predicted, matched, written_out
from podplan.facts.settings import settings
from podplan.groups import Options
from podplan.kinds._job import job as job_of
from podplan.provenance import Doc, Fact, root

_SAMPLE = 3  # replicas of a group that are looked at while settings are tried


class Compared(NamedTuple):
    """A job and its real objects, matched, under some options."""

    cr: Doc
    options: Options
    real: list[Object]
    matched: Matched
    differences: list[Difference]

    @property
    def kind(self) -> str:
        return str(self.cr.data["kind"])

    @property
    def cost(self) -> float:
        return sum(map(cost, self.differences))

    def fact(self, id_: str) -> Fact:
        """A setting as it is now."""
        return self.options._replace(kind=self.kind).fact(settings()[id_])

    def pairs(self, kind: str) -> list[Pair]:
        """The pairs of one kind of object."""
        return [pair for pair in self.matched.pairs if pair.predicted.kind == kind]


def compared(cr: Doc, options: Options, real: list[Object], *, sampled: bool = False) -> Compared:
    """Lower a CR that its schema accepts, and compare; ``sampled`` looks into few replicas of each type."""
    groups = kinds.lower_cr(cr, options)
    there = {one["kind"] for one in real} | {"Pod", "Service", "ConfigMap", "PodGroup"}
    found = matched(written_out(groups, frozenset(there)), real)
    looked_into = _sample(found) if sampled else found
    return Compared(cr, options, real, found, differences(looked_into))


def with_values(before: Compared, values: Mapping[str, Any]) -> Options:
    """The options of a comparison with other values for this kind of job."""
    kept = before.options.values
    return before.options._replace(values={**kept, before.kind: {**kept.get(before.kind, {}), **values}})


def words_of(found: Compared, predicted: Predicted, real: Object) -> dict[str, str]:
    """What the words in settings stand for, of one replica."""
    job = job_of(root(found.cr), found.options)
    role = predicted.group.role
    known = {
        "base": job.base,
        "job": job.name,
        "kind": job.kind,
        "component": job.kind.lower(),
        "namespace": str(real["metadata"].get("namespace", "")),
        "type": role,
    }
    if predicted.group.doc.varies.get(("metadata", "name")) is None:
        return known
    name = str(real["metadata"]["name"])
    pod = {"pod": name} if predicted.kind == "Pod" else {}
    return known | pod | {"name": name, "index": str(predicted.number)}


def _sample(found: Matched) -> Matched:
    taken: dict[int, int] = {}
    pairs = []
    for pair in found.pairs:
        key = id(pair.predicted.group)
        taken[key] = taken.get(key, 0) + 1
        last = pair.predicted.group.start + pair.predicted.group.replicas - 1
        if taken[key] < _SAMPLE or pair.predicted.number == last:
            pairs.append(pair)
    return found._replace(pairs=pairs)
