"""Objects of Kueue that the API server or Kueue's webhook refuses. Source: docs/evidence/kueue.md#objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from podplan.cluster.kinds import KUEUE_GROUP
from podplan.core.provenance import Path
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_size, get_text, get_texts
from podplan.kubernetes.names import matches_form
from podplan.kubernetes.quantities import parse_quantity

_MAX_SHOWN, _MAX_NAMED = 60, 8  # characters of a value, names in a help text
VERSIONS = ("v1beta1", "v1beta2")
HOST_LABEL = "kubernetes.io/hostname"
_OLD_API_VERSION = f"{KUEUE_GROUP}/v1beta1"
_MAX_GROUPS, _MAX_PER_GROUP, _MAX_LEVELS, _MAX_FLAVOR_ENTRIES = 16, 64, 16, 8
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_STOP_POLICIES = ("None", "Hold", "HoldAndDrain")
# Fields of a ClusterQueue with the values that they may have; the old API has further ones.
_CHOICES: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (("queueingStrategy",), ("StrictFIFO", "BestEffortFIFO"), ()),
    (("stopPolicy",), _STOP_POLICIES, ()),
    (("preemption", "withinClusterQueue"), ("Never", "LowerPriority", "LowerOrNewerEqualPriority"), ()),
    (("preemption", "reclaimWithinCohort"), ("Never", "LowerPriority", "Any"), ()),
    (("preemption", "borrowWithinCohort", "policy"), ("Never", "LowerPriority"), ()),
    (("flavorFungibility", "whenCanBorrow"), ("MayStopSearch", "TryNextFlavor"), ("Borrow",)),
    (("flavorFungibility", "whenCanPreempt"), ("MayStopSearch", "TryNextFlavor"), ("Preempt",)),
    (
        ("flavorFungibility", "preference"),
        ("BorrowingOverPreemption", "PreemptionOverBorrowing"),
        (),
    ),
    (
        ("admissionScope", "admissionMode"),
        ("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"),
        (),
    ),
)


# Fields of v1beta1 that v1beta2 does not have, with those that took their place.
_FORMER_FIELDS = {"ClusterQueue": {"cohort": "cohortName", "admissionChecks": "admissionChecksStrategy"}}


class Refusal(NamedTuple):
    """Why an object is refused, the path of the field, and what to write instead where the reason leaves that
    open."""

    path: Path
    message: str
    help: str = ""


def iter_refusals(data: Mapping[str, Any]) -> Iterator[Refusal]:
    """Yield why an object of Kueue is refused; nothing for objects of other groups."""
    group, _, version = get_text(data, "apiVersion").rpartition("/")
    validate = _VALIDATORS.get(get_text(data, "kind"))
    if group != KUEUE_GROUP or validate is None:
        return
    if version not in VERSIONS:
        message = f"Kueue serves no {data.get('kind')} of {version}; write {KUEUE_GROUP}/{VERSIONS[-1]}"
        yield Refusal(("apiVersion",), message)
        return
    name = get_mapping(data, "metadata").get("name")
    if isinstance(name, str) and not matches_form("dns-subdomain", name):
        yield Refusal(("metadata", "name"), f'"{name}" is no DNS subdomain')
    yield from validate(data)


def iter_dropped_fields(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the fields of the former version that the API server drops, each with its name today."""
    if data.get("apiVersion") != f"{KUEUE_GROUP}/{VERSIONS[-1]}":
        return
    spec = get_mapping(data, "spec")
    for field, name in _FORMER_FIELDS.get(get_text(data, "kind"), {}).items():
        if field in spec:
            yield ("spec", field), name


def _validate_cluster_queue(data: Mapping[str, Any]) -> Iterator[Refusal]:
    spec, is_old = get_mapping(data, "spec"), data.get("apiVersion") == _OLD_API_VERSION
    field = "cohort" if is_old else "cohortName"
    yield from _validate_name(spec, field)
    yield from _validate_groups(spec, get_text(spec, field), "cohort", is_queue=True)
    for path, values, old_values in _CHOICES:
        yield from _validate_choice(spec, path, (*values, *(old_values if is_old else ())))
    preemption = get_mapping(spec, "preemption")
    lends = get_text(get_mapping(preemption, "borrowWithinCohort"), "policy")
    if lends not in ("", "Never") and get_text(preemption, "reclaimWithinCohort") in ("", "Never"):
        message = "reclaimWithinCohort must not be Never while borrowWithinCohort has a policy"
        yield Refusal(("spec", "preemption"), message)
    yield from _validate_selector(spec.get("namespaceSelector"), ("spec", "namespaceSelector"))
    yield from _validate_weight(spec)
    if is_old and spec.get("admissionChecks") and spec.get("admissionChecksStrategy"):
        message = "admissionChecks and admissionChecksStrategy exclude each other"
        yield Refusal(("spec", "admissionChecks"), message)


def _validate_cohort(data: Mapping[str, Any]) -> Iterator[Refusal]:
    spec = get_mapping(data, "spec")
    yield from _validate_name(spec, "parentName")
    yield from _validate_groups(spec, get_text(spec, "parentName"), "parent", is_queue=False)
    yield from _validate_weight(spec)


def _validate_local_queue(data: Mapping[str, Any]) -> Iterator[Refusal]:
    spec = get_mapping(data, "spec")
    yield from _validate_name(spec, "clusterQueue")
    yield from _validate_choice(spec, ("stopPolicy",), _STOP_POLICIES)


def _validate_flavor(data: Mapping[str, Any]) -> Iterator[Refusal]:
    spec, path = get_mapping(data, "spec"), ("spec",)
    for field in ("nodeLabels", "nodeTaints", "tolerations"):
        if get_size(spec, field) > _MAX_FLAVOR_ENTRIES:
            yield Refusal((*path, field), f"at most {_MAX_FLAVOR_ENTRIES} are allowed")
    for index, taint in get_entries(spec, "nodeTaints"):
        if taint.get("effect") not in _TAINT_EFFECTS:
            message = f"a taint needs an effect: {', '.join(_TAINT_EFFECTS)}"
            yield Refusal((*path, "nodeTaints", index), message)
    for index, toleration in get_entries(spec, "tolerations"):
        place, operator = (*path, "tolerations", index), toleration.get("operator", "Equal")
        if operator not in ("Equal", "Exists", "Lt", "Gt"):
            yield Refusal((*place, "operator"), f'"{operator}" is not an operator of tolerations')
        elif operator == "Exists" and toleration.get("value"):
            yield Refusal((*place, "value"), "a value must be empty when the operator is Exists")
        elif operator != "Exists" and not toleration.get("key"):
            yield Refusal((*place, "operator"), "the operator must be Exists when there is no key")
        if toleration.get("effect") not in (None, "", *_TAINT_EFFECTS):
            message = f"{toleration.get('effect')} is not an effect: {', '.join(_TAINT_EFFECTS)}"
            yield Refusal((*place, "effect"), message)
    yield from _validate_name(spec, "topologyName")
    if get_text(spec, "topologyName") and not get_size(spec, "nodeLabels"):
        message = "at least one nodeLabel is required when topologyName is set"
        help_text = "add nodeLabels by which the nodes of the flavor are found"
        yield Refusal((*path, "topologyName"), message, help_text)


def _validate_topology(data: Mapping[str, Any]) -> Iterator[Refusal]:
    spec, path = get_mapping(data, "spec"), ("spec", "levels")
    labels = [get_text(one, "nodeLabel") for _, one in get_entries(spec, "levels")]
    if not 1 <= len(labels) <= _MAX_LEVELS:
        yield Refusal(path, f"{len(labels)} levels; there must be 1 to {_MAX_LEVELS}")
    if len(set(labels)) < len(labels):
        yield Refusal(path, "levels must be unique")
    if HOST_LABEL in labels[:-1]:
        yield Refusal(path, f"{HOST_LABEL} can only be the lowest level", "list it last")
    for index, label in enumerate(labels):
        if not matches_form("qualified-name", label):
            yield Refusal((*path, index, "nodeLabel"), f'"{label}" is no label')


def _validate_workload_priority(data: Mapping[str, Any]) -> Iterator[Refusal]:
    value = data.get("value")
    if not isinstance(value, int) or isinstance(value, bool):
        yield Refusal(("value",) if "value" in data else (), "value must be an integer")


def _validate_nothing(_: Mapping[str, Any]) -> Iterator[Refusal]:
    yield from ()


def _validate_groups(
    spec: Mapping[str, Any], parent: str, parent_word: str, *, is_queue: bool
) -> Iterator[Refusal]:
    path = ("spec", "resourceGroups")
    if get_size(spec, "resourceGroups") > _MAX_GROUPS:
        yield Refusal(path, f"at most {_MAX_GROUPS} resource groups are allowed")
    flavors: set[str] = set()
    resources: set[str] = set()
    for index, group in get_entries(spec, "resourceGroups"):
        covered = [text for _, text in get_texts(group, "coveredResources")]
        for field in ("coveredResources", "flavors"):
            if not 1 <= get_size(group, field) <= _MAX_PER_GROUP:
                message = f"{get_size(group, field)} {field}; there must be 1 to {_MAX_PER_GROUP}"
                yield Refusal((*path, index, field), message)
        for number, name in enumerate(covered):
            place = (*path, index, "coveredResources", number)
            if not matches_form("qualified-name", name):
                yield Refusal(place, f'"{name}" is not the name of a resource')
            elif name in resources:
                yield Refusal(place, f'duplicate value: "{name}"')
            resources.add(name)
        for number, flavor in get_entries(group, "flavors"):
            place = (*path, index, "flavors", number)
            name = get_text(flavor, "name")
            if not matches_form("dns-subdomain", name):
                yield Refusal((*place, "name"), f'"{name}" is no DNS subdomain')
            elif name in flavors:
                message = f'duplicate value: "{name}"; a flavor is in one group only'
                help_text = "cover its resources in one group, or define another ResourceFlavor"
                yield Refusal((*place, "name"), message, help_text)
            flavors.add(name)
            named = [get_text(one, "name") for _, one in get_entries(flavor, "resources")]
            if len(named) != len(covered):
                message = "flavors must have the same number of resources as the coveredResources"
                yield Refusal((*place, "resources"), message, f"list {_format_resources(covered)}")
            elif named != covered:
                message = "resources must be in the order of coveredResources, with the same names"
                yield Refusal((*place, "resources"), message, f"list {_format_resources(covered)}")
            for position, quota in get_entries(flavor, "resources"):
                yield from _validate_quota(
                    quota, (*place, "resources", position), parent, parent_word, is_queue=is_queue
                )


def _validate_quota(
    quota: Mapping[str, Any], path: Path, parent: str, parent_word: str, *, is_queue: bool
) -> Iterator[Refusal]:
    amounts: dict[str, int] = {}
    for field in ("nominalQuota", "borrowingLimit", "lendingLimit"):
        value = quota.get(field)
        if value is None:
            continue
        units = parse_quantity(value)
        if units is None:
            shown = truncate(repr(value), _MAX_SHOWN)
            yield Refusal((*path, field), f"{shown} is not a quantity", "write one such as 8, 500m or 64Gi")
            continue
        amounts[field] = units
        if units < 0:
            message = f"{truncate(str(value), _MAX_SHOWN)} must be greater than or equal to 0"
            yield Refusal((*path, field), message, "write 0 or more")
        if field != "nominalQuota" and not parent:
            message = f"{field} must be nil when {parent_word} is empty"
            yield Refusal((*path, field), message, f"name a {parent_word}, or remove {field}")
    if is_queue and "lendingLimit" in amounts and amounts["lendingLimit"] > amounts.get("nominalQuota", 0):
        message = "must be less than or equal to the nominalQuota"
        yield Refusal((*path, "lendingLimit"), message, "lower lendingLimit, or raise nominalQuota")


def _format_resources(names: Sequence[str]) -> str:
    """Return the resources that each flavor of a group lists, in order; of many the first ones."""
    shown = ", ".join(names[:_MAX_NAMED])
    return f"{shown} and {len(names) - _MAX_NAMED} more, in this order" if len(names) > _MAX_NAMED else shown


def _validate_name(spec: Mapping[str, Any], field: str) -> Iterator[Refusal]:
    name = get_text(spec, field)
    if name and not matches_form("dns-subdomain", name):
        yield Refusal(("spec", field), f'"{name}" is no DNS subdomain')


def _validate_choice(
    spec: Mapping[str, Any], path: Sequence[str], values: Sequence[str]
) -> Iterator[Refusal]:
    parent: Any = spec
    for step in path[:-1]:
        parent = get_mapping(parent, step)
    value = parent.get(path[-1])
    if value is not None and value not in values:
        yield Refusal(("spec", *path), f'unsupported value: "{value}"; supported: {", ".join(values)}')


def _validate_selector(selector: Any, path: Path) -> Iterator[Refusal]:
    for index, one in get_entries(selector, "matchExpressions"):
        place, operator = (*path, "matchExpressions", index), one.get("operator")
        if operator not in _SELECTOR_OPERATORS:
            yield Refusal((*place, "operator"), f'"{operator}" is not a selector operator')
        elif operator in ("In", "NotIn") and not one.get("values"):
            yield Refusal((*place, "values"), "must be specified when operator is In or NotIn")
        elif operator in ("Exists", "DoesNotExist") and one.get("values"):
            yield Refusal((*place, "values"), "may not be specified when operator is Exists or DoesNotExist")


def _validate_weight(spec: Mapping[str, Any]) -> Iterator[Refusal]:
    weight = get_mapping(spec, "fairSharing").get("weight")
    if weight is None:
        return
    units = parse_quantity(weight)
    if units is None or units < 0:
        message = f"{weight} must be a quantity greater than or equal to 0"
        yield Refusal(("spec", "fairSharing", "weight"), message)


_VALIDATORS: dict[str, Callable[[Mapping[str, Any]], Iterator[Refusal]]] = {
    "ClusterQueue": _validate_cluster_queue,
    "Cohort": _validate_cohort,
    "LocalQueue": _validate_local_queue,
    "ResourceFlavor": _validate_flavor,
    "Topology": _validate_topology,
    "WorkloadPriorityClass": _validate_workload_priority,
    "AdmissionCheck": _validate_nothing,
}
