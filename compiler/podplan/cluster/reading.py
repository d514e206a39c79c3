"""From documents to the cluster that they describe; what is malformed reads as missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podplan.cluster.amounts import parse_quantities, round_amounts, round_up
from podplan.cluster.kinds import CONFIGURATION_GROUP, KINDS, KUEUE_GROUP
from podplan.cluster.model import (
    Cluster,
    ClusterQueue,
    Cohort,
    FlavorQuotas,
    KueueConfiguration,
    LimitRange,
    LocalQueue,
    Namespace,
    NamespaceQuota,
    Node,
    ResourceFlavor,
    ResourceGroup,
    ResourceQuota,
    Transformation,
    VolcanoQueue,
)
from podplan.cluster.refusals import iter_refusals
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.kubernetes.quantities import parse_quantity
from podplan.yaml import parse_yaml

_V1BETA1 = f"{KUEUE_GROUP}/v1beta1"
# Checks of these controllers, which are part of Kueue, need parameters to become active.
_CONTROLLERS_WITH_PARAMETERS = ("multikueue", "provisioning-request")


def read_cluster(documents: Iterable[TracedDocument]) -> Cluster:
    """Build the cluster that documents describe."""
    by_kind: dict[tuple[str, str], dict[tuple[str, str], Cursor]] = {}
    configurations: list[tuple[Cursor, Any]] = []
    refused: dict[tuple[str, str, str], str] = {}
    ambiguous: dict[tuple[str, str, str], str] = {}
    limit_ranges: dict[str, list[LimitRange]] = {}
    namespace_quotas: dict[str, list[NamespaceQuota]] = {}
    for document in documents:
        data = document.data
        if not isinstance(data, dict):
            continue
        place = root_cursor(document)
        group = get_text(data, "apiVersion").rpartition("/")[0]
        kind, metadata = get_text(data, "kind"), get_mapping(data, "metadata")
        if kind not in KINDS.get(group, ()):
            continue
        name, namespace = get_text(metadata, "name"), get_text(metadata, "namespace")
        if kind == "Configuration":
            configurations.append((place, data))
        elif kind == "ConfigMap":
            configurations += _iter_configurations(place)
        else:
            first = by_kind.setdefault((group, kind), {}).setdefault((namespace, name), place)
            if first.value != data:
                files = tuple(dict.fromkeys((first.doc.name, document.name)))
                places = " and ".join(files) if len(files) > 1 else f"{files[0]} twice"
                ambiguous[kind, namespace, name] = places
            refusal = next(iter_refusals(data), None)
            if refusal is not None:
                refused.setdefault((kind, namespace, name), refusal.message)
            if kind == "LimitRange":
                limit_ranges.setdefault(namespace, []).extend(_iter_limits(place))
            elif kind == "ResourceQuota":
                namespace_quotas.setdefault(namespace, []).append(_read_namespace_quota(name, place))

    def read(group: str, kind: str, build: Callable[[str, Cursor], Any]) -> dict[str, Any]:
        named = by_kind.get((group, kind), {})
        return {name: build(name, place) for (_, name), place in named.items()}

    local_queues = by_kind.get((KUEUE_GROUP, "LocalQueue"), {})
    return Cluster(
        cluster_queues=read(KUEUE_GROUP, "ClusterQueue", _read_cluster_queue),
        local_queues={
            (namespace, name): LocalQueue(
                name,
                namespace,
                place,
                str(place.get("spec", "clusterQueue").value_or("")),
                str(place.get("spec", "stopPolicy").value_or("None")),
            )
            for (namespace, name), place in local_queues.items()
        },
        cohorts=read(KUEUE_GROUP, "Cohort", _read_cohort),
        flavors=read(KUEUE_GROUP, "ResourceFlavor", _read_flavor),
        topologies=read(
            KUEUE_GROUP,
            "Topology",
            lambda _, place: tuple(
                get_text(one, "nodeLabel") for _, one in get_entries(place.get("spec").value, "levels")
            ),
        ),
        topology_places=read(KUEUE_GROUP, "Topology", lambda _, place: place),
        admission_checks=read(KUEUE_GROUP, "AdmissionCheck", _read_check),
        check_places=read(KUEUE_GROUP, "AdmissionCheck", lambda _, place: place),
        workload_priorities=read(KUEUE_GROUP, "WorkloadPriorityClass", lambda _, place: place),
        priorities=read("scheduling.k8s.io", "PriorityClass", lambda _, place: place),
        namespaces=read("", "Namespace", _read_namespace),
        limit_ranges=limit_ranges,
        namespace_quotas=namespace_quotas,
        overheads=read(
            "node.k8s.io",
            "RuntimeClass",
            lambda _, place: parse_quantities(place.get("overhead", "podFixed").value),
        ),
        runtime_class_places=read("node.k8s.io", "RuntimeClass", lambda _, place: place),
        nodes=tuple(read("", "Node", _read_node).values()),
        workloads=by_kind.get((KUEUE_GROUP, "Workload"), {}),
        volcano_queues=read("scheduling.volcano.sh", "Queue", _read_volcano_queue),
        configuration=_choose_configuration(configurations),
        refused=refused,
        ambiguous=ambiguous,
    )


def _read_volcano_queue(name: str, place: Cursor) -> VolcanoQueue:
    spec = place.get("spec")
    return VolcanoQueue(
        name,
        place,
        parse_quantities(spec.get("capability").value),
        get_text(spec.value, "parent"),
        get_text(place.get("status").value, "state"),
    )


def _choose_configuration(configurations: list[tuple[Cursor, Any]]) -> KueueConfiguration:
    """Return the configuration; where several differ, or one cannot be read, none is known."""
    if not configurations:
        return KueueConfiguration()
    place, data = configurations[0]
    broken = next((one for one, read in configurations if read is None), None)
    if broken is not None:
        message = f"the configuration of Kueue in {broken.doc.name} is not YAML"
        return KueueConfiguration(broken, doubt=message)
    files = " and ".join(dict.fromkeys(one.doc.name for one, read in configurations if read != data))
    if files:
        return KueueConfiguration(
            place, doubt=f"the configurations of Kueue in {place.doc.name} and {files} differ"
        )
    return read_configuration(place, data)


def read_configuration(place: Cursor, data: Any) -> KueueConfiguration:
    """Build the configuration of the manager from the data of a Configuration."""
    integrations, resources = get_mapping(data, "integrations"), get_mapping(data, "resources")
    frameworks = integrations.get("frameworks")
    transformations = {
        get_text(one, "input"): Transformation(
            get_text(one, "strategy") != "Replace",
            parse_quantities(one.get("outputs")),
            get_text(one, "multiplyBy"),
        )
        for _, one in get_entries(resources, "transformations")
    }
    return KueueConfiguration(
        place,
        frozenset(str(one) for one in frameworks) if isinstance(frameworks, list) else None,
        data.get("manageJobsWithoutQueueName") is True,
        _read_selector(data.get("managedJobsNamespaceSelector")),
        get_mapping(data, "featureGates").get("PartialAdmission") is False,
        get_text(resources, "quotaCheckStrategy") == "IgnoreUndeclared",
        tuple(text for _, text in get_texts(resources, "excludeResourcePrefixes")),
        transformations,
    )


def _iter_configurations(place: Cursor) -> Iterator[tuple[Cursor, Any]]:
    """Yield the configurations of Kueue in the texts of a ConfigMap; None for a text that is not YAML."""
    for text in place.get("data").fields().values():
        if CONFIGURATION_GROUP not in str(text.value):
            continue
        source = parse_yaml(str(text.value).encode(), place.doc.name)
        if source.diagnostics:
            yield text, None
            continue
        for document in source.documents:
            if get_text(document.data, "apiVersion").startswith(f"{CONFIGURATION_GROUP}/"):
                yield text, document.data


def _read_cluster_queue(name: str, place: Cursor) -> ClusterQueue:
    spec = place.get("spec")
    is_old = place.get("apiVersion").value == _V1BETA1
    checks = get_entries(spec.get("admissionChecksStrategy").value, "admissionChecks")
    names = [get_text(one, "name") for _, one in checks]
    if is_old:
        names += [one for _, one in get_texts(spec.value, "admissionChecks")]
    selector = _read_selector(spec.get("namespaceSelector").value)
    return ClusterQueue(
        name,
        place,
        str(spec.get("cohort" if is_old else "cohortName").value_or("")),
        tuple(_iter_groups(spec)),
        selector,
        str(spec.get("stopPolicy").value_or("None")),
        tuple(names),
        spec.get("flavorFungibility", "whenCanBorrow").value == "TryNextFlavor",
    )


def _read_cohort(name: str, place: Cursor) -> Cohort:
    spec = place.get("spec")
    return Cohort(name, place, str(spec.get("parentName").value_or("")), tuple(_iter_groups(spec)))


def _iter_groups(spec: Cursor) -> Iterator[ResourceGroup]:
    for group in spec.get("resourceGroups").entries():
        covered = tuple(text for _, text in get_texts(group.value, "coveredResources"))
        flavors = tuple(
            FlavorQuotas(
                str(flavor.get("name").value_or("")), dict(_iter_quotas(flavor.get("resources"))), flavor
            )
            for flavor in group.get("flavors").entries()
        )
        yield ResourceGroup(covered, flavors)


def _iter_quotas(resources: Cursor) -> Iterator[tuple[str, ResourceQuota]]:
    for one in resources.entries():
        name = str(one.get("name").value_or(""))
        nominal = _read_amount(name, one.get("nominalQuota"))
        yield (
            name,
            ResourceQuota(
                nominal if nominal is not None else 0,
                _read_amount(name, one.get("borrowingLimit")),
                _read_amount(name, one.get("lendingLimit")),
                one,
            ),
        )


def _read_amount(resource: str, cursor: Cursor) -> int | None:
    units = parse_quantity(cursor.value) if cursor.exists else None
    return None if units is None else round_up(resource, units)


def _read_flavor(name: str, place: Cursor) -> ResourceFlavor:
    spec = place.get("spec")
    return ResourceFlavor(
        name,
        place,
        _read_labels(spec.get("nodeLabels").value),
        [one for _, one in get_entries(spec.value, "nodeTaints")],
        [one for _, one in get_entries(spec.value, "tolerations")],
        str(spec.get("topologyName").value_or("")),
    )


def _read_check(_name: str, place: Cursor) -> bool | None:
    """Whether a check is active; None if git does not say."""
    controller = str(place.get("spec", "controllerName").value_or(""))
    is_own = controller in [f"{KUEUE_GROUP}/{name}" for name in _CONTROLLERS_WITH_PARAMETERS]
    if is_own and not place.get("spec", "parameters").exists:
        return False
    for _, condition in get_entries(place.get("status").value, "conditions"):
        if condition.get("type") == "Active":
            return bool(condition.get("status") == "True")
    return None


def _read_node(name: str, place: Cursor) -> Node:
    conditions = get_entries(place.get("status").value, "conditions")
    is_ready = any(one.get("type") == "Ready" and one.get("status") == "True" for _, one in conditions)
    return Node(
        name,
        place,
        _read_labels(place.get("metadata", "labels").value),
        [one for _, one in get_entries(place.get("spec").value, "taints")],
        round_amounts(parse_quantities(place.get("status", "allocatable").value)),
        is_ready and place.get("spec", "unschedulable").value is not True,
    )


def _read_namespace(name: str, place: Cursor) -> Namespace:
    return Namespace(name, place, _read_labels(place.get("metadata", "labels").value))


def _read_namespace_quota(name: str, place: Cursor) -> NamespaceQuota:
    spec = place.get("spec")
    is_scoped = bool(spec.get("scopes").value or spec.get("scopeSelector").value)
    return NamespaceQuota(name, place, parse_quantities(spec.get("hard").value), is_scoped)


def _iter_limits(place: Cursor) -> Iterator[LimitRange]:
    for one in place.get("spec", "limits").entries():
        maximum, minimum, default, request, ratio = (
            parse_quantities(one.get(field).value)
            for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
        )
        if one.get("type").value == "Container":
            default = {**maximum, **default}
            request = {**minimum, **default, **request}
        yield LimitRange(str(one.get("type").value_or("")), one, maximum, minimum, default, request, ratio)


def _read_selector(value: Any) -> dict[str, Any] | None:
    """The valid parts of a label selector; None if there is none."""
    if not isinstance(value, dict):
        return None
    expressions = [
        {
            "key": get_text(one, "key"),
            "operator": get_text(one, "operator"),
            "values": [text for _, text in get_texts(one, "values")],
        }
        for _, one in get_entries(value, "matchExpressions")
    ]
    return {"matchLabels": _read_labels(value.get("matchLabels")), "matchExpressions": expressions}


def _read_labels(value: Any) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, dict) else {}
