"""A job as calibration sees it: lowered with some settings, and compared with what is really there."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.provenance import Doc, Fact, root
from podplan.core.replica_groups import Group, Options
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.lowering_options import settings
from podplan.kinds.registry import lower_cr
from podplan.kinds.t9k.job import job as job_of
from podplan.tools.cluster_diff.differences import Difference, cost, differences
from podplan.tools.cluster_diff.kubectl_dump import Object
from podplan.tools.cluster_diff.object_matching import Matched, Pair, Predicted, matched, written_out

_FEW = 4  # replicas of a type that are looked at while settings are tried, where there are many objects
_MANY = 100


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
    """Lower a CR that its schema accepts, and compare; ``sampled`` takes the first replicas of each type."""
    groups = lower_cr(cr, options)
    there = frozenset(one["kind"] for one in real) | {"Pod", "Service", "ConfigMap", "PodGroup"}
    predicted = written_out(_first(groups) if sampled else groups, there)
    found = matched(predicted, real)
    return Compared(cr, options, real, found, differences(found))


def sample(whole: Compared) -> tuple[list[Object], bool]:
    """The real objects to try settings on, and whether they are only some: of many, the first replicas."""
    if len(whole.real) <= _MANY:
        return whole.real, False
    few = [pair.real for pair in whole.matched.pairs if pair.predicted.number < _FEW]
    return [*few, *whole.matched.extra[:_MANY]], True


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


def _first(groups: list[Group]) -> list[Group]:
    """Groups with the first replicas of each type alone."""
    kept = (group._replace(replicas=min(group.replicas, _FEW - group.start)) for group in groups)
    return [group for group in kept if group.replicas > 0]
