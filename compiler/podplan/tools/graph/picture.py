"""Builds the graph of a CR and its lowered objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.limits import MAX_GRAPH_ELEMENTS, LimitExceeded, limit_exceeded
from podplan.core.provenance import Path, TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kinds.registry import find_kind, load_spec
from podplan.kinds.spec import KindSpec
from podplan.kinds.suspension import find_suspension
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text
from podplan.tools.graph.hosts import build_host_index, find_mentions
from podplan.tools.graph.model import Call, Card, Gang, Graph, Link, SideBox
from podplan.tools.graph.mounts import CONFIGURATION_KINDS, ObjectUse, list_object_uses
from podplan.tools.graph.pods import (
    PodCard,
    build_rows,
    describe_programs,
    format_gpu_counts,
    format_object_names,
    group_pod_cards,
    shorten_image,
)

# What a job starts that another controller turns into Pods.
_OTHER_JOB_KINDS = ("FlinkCluster",)


def build_graph(
    cr: TracedDocument,
    groups: Sequence[ReplicaGroup],
    variant: str = "",
    references: Sequence[TracedDocument] = (),
) -> Graph:
    """Build the graph of a CR with the replica groups ``groups``; ``variant`` is the environment and matrix
    instance, and ``references`` are the documents that the CR refers to, such as its runtime.

    Raises LimitExceeded: if there are too many parts to draw.
    """
    by_kind: dict[str, list[ReplicaGroup]] = {}
    _require_drawable(cr, len(groups))
    for group in groups:
        by_kind.setdefault(group.doc.data["kind"], []).append(group)
    cards_of_pods = group_pod_cards(by_kind.get("Pod", []))
    gang = by_kind.get("PodGroup", [])
    kind_spec = _find_kind_spec(cr.data)
    group_label = kind_spec.pod_group_label if kind_spec is not None else ""
    tensorboards = by_kind.get("TensorBoard", [])
    calls, peers = _build_calls(cards_of_pods, by_kind)
    cards = (
        *(
            _build_card(i, role, cards_of_pods, gang, peers.get(i, ()), group_label)
            for i, role in enumerate(cards_of_pods)
        ),
        *(_build_tensorboard_card(i, board) for i, board in enumerate(tensorboards)),
    )
    sources = [_build_source_side(i, doc) for i, doc in enumerate(references)]
    sides, links = _build_sides(cards_of_pods, tensorboards, by_kind)
    sides = (*sources, *sides)
    links = (*(Link(card.id, source.id) for source in sources for card in cards), *links)
    _require_drawable(cr, len(cards) + len(sides) + len(links) + len(calls))
    replicas = sum(role.replicas for role in cards_of_pods)
    data = cr.data
    return Graph(
        _get_job_name(data),
        data["kind"],
        tuple(_iter_tags(data, variant)),
        " · ".join(
            filter(
                None,
                (
                    f"{replicas:,} Pod{'' if replicas == 1 else 's'}",
                    format_gpu_counts(_sum_gpus(cards_of_pods)),
                ),
            )
        ),
        "" if cards_of_pods else _explain_empty_graph(data),
        _build_gang(gang[0], replicas) if gang else None,
        cards,
        sides,
        links,
        calls,
    )


def _require_drawable(cr: TracedDocument, parts: int) -> None:
    if parts > MAX_GRAPH_ELEMENTS:
        message = (
            f"a picture of {_get_job_name(cr.data)} would have {parts:,} parts, and at most"
            f" {MAX_GRAPH_ELEMENTS:,} are drawn"
        )
        raise LimitExceeded(limit_exceeded("drawn", message))


def _get_job_name(cr: Mapping[str, Any]) -> str:
    metadata = get_mapping(cr, "metadata")
    return get_text(metadata, "name") or f"{get_text(metadata, 'generateName')}…"


def _iter_tags(cr: Mapping[str, Any], variant: str) -> Iterator[str]:
    if namespace := get_text(get_mapping(cr, "metadata"), "namespace"):
        yield f"namespace {namespace}"
    if variant:
        yield variant
    for mode, tag in (("debug", "debug mode"), ("pause", "paused")):
        if _is_mode_enabled(cr, mode):
            yield tag
    kind_spec = _find_kind_spec(cr)
    elastic = _get_mapping_at(cr, kind_spec.elastic_path if kind_spec is not None else ())
    if elastic.get("enabled") is True:
        min_replicas, max_replicas = (elastic.get(key, "?") for key in ("minReplicas", "maxReplicas"))
        yield f"elastic, {min_replicas} to {max_replicas} replicas"


def _is_mode_enabled(cr: Mapping[str, Any], mode: str) -> bool:
    kind_spec = _find_kind_spec(cr)
    path = (*kind_spec.run_mode_path, mode) if kind_spec is not None and kind_spec.run_mode_path else ()
    return _get_mapping_at(cr, path).get("enabled") is True


def _find_kind_spec(cr: Mapping[str, Any]) -> KindSpec | None:
    kind = find_kind(cr.get("apiVersion"), cr.get("kind"))
    return load_spec(kind) if kind is not None else None


def _get_mapping_at(cr: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """Return the mapping at ``path``; an empty one if it does not exist, or there is no path."""
    value = cr if path else {}
    for step in path:
        value = get_mapping(value, str(step))
    return value


def _explain_empty_graph(cr: Mapping[str, Any]) -> str:
    if field := find_suspension(cr):
        state = "Suspended" if field[-1] == "suspend" else "Paused"
        return f"{state}: no Pods until it goes on (--resumed draws it as it is then)"
    return "No Pods: every replica type has 0 replicas"


def _build_gang(group: ReplicaGroup, replicas: int) -> Gang:
    spec = get_mapping(group.doc.data, "spec")
    min_member = get_number(spec, "minMember")
    total_text = f" of {replicas:,} Pods" if replicas else ""
    parts = [f"minMember {min_member:,}{total_text}", f"queue {spec.get('queue')}"]
    return Gang(format_object_names(group), " · ".join([*parts, f"priority {spec.get('priority')}"]))


def _sum_gpus(pod_cards: Sequence[PodCard]) -> dict[str, int]:
    total: dict[str, int] = {}
    for role in pod_cards:
        for label, count in role.gpus.items():
            total[label] = total.get(label, 0) + count * role.replicas
    return total


def _build_card(
    i: int,
    role: PodCard,
    pod_cards: Sequence[PodCard],
    gang: Sequence[ReplicaGroup],
    peers: Sequence[str],
    pod_group_label: str,
) -> Card:
    first = role.groups[0]
    is_unique = [other.name for other in pod_cards].count(role.name) == 1
    title = role.name if is_unique else f"{role.name} {first.indexes}"
    card_rows = build_rows(role)
    fields = [*role.fields]
    if not card_rows:
        fields.insert(1, ("runs", describe_programs(first)))
    if peers:
        fields.append(("peers", ", ".join(peers)))
    labels = get_mapping(get_mapping(first.doc.data, "metadata"), "labels")
    return Card(
        f"p{i}",
        "Pods",
        f"{title} × {role.replicas:,}",
        _format_pod_names(role.groups),
        format_gpu_counts(_sum_gpus([role])),
        tuple(fields),
        card_rows,
        bool(gang)
        and labels.get(pod_group_label, format_object_names(gang[0])) == format_object_names(gang[0]),
        role.replicas > 1,
    )


def _format_pod_names(groups: Sequence[ReplicaGroup]) -> str:
    """Return the names of all Pods of a role: those of its first group with the total count."""
    whole_group = groups[0]._replace(replicas=sum(group.replicas for group in groups))
    return format_object_names(whole_group)


def _build_tensorboard_card(i: int, board: ReplicaGroup) -> Card:
    spec = get_mapping(board.doc.data, "spec")
    sources = [
        label for key, label in (("s3", "S3"), ("http", "HTTP")) if get_mapping(spec, "logDir").get(key)
    ]
    fields = [("image", shorten_image(get_text(spec, "image"))), ("logs", ", ".join(sources))]
    return Card(
        f"t{i}",
        "TensorBoard",
        "TensorBoard",
        format_object_names(board),
        "",
        tuple(field for field in fields if field[1]),
    )


def _build_calls(
    pod_cards: Sequence[PodCard], by_kind: Mapping[str, Sequence[ReplicaGroup]]
) -> tuple[tuple[Call, ...], dict[int, tuple[str, ...]]]:
    """Return who names whom, and by card, where its Pods name each other."""
    host_index = build_host_index(by_kind.get("Service", []), by_kind.get("Pod", []))
    files = {
        get_text(get_mapping(g.doc.data, "metadata"), "name"): g.doc for g in by_kind.get("ConfigMap", [])
    }
    labels: dict[tuple[int, int, int, int], dict[tuple[str, str], None]] = {}
    peers: dict[int, dict[tuple[str, str], None]] = {}
    for i, role in enumerate(pod_cards):
        for row, group in enumerate(role.groups):
            for mention in find_mentions(group, host_index, files):
                for j, target, other in _iter_targets(pod_cards, mention.role, mention.replica):
                    if (i, row) != (j, target):
                        key = (i, row, j, target) if i == j else (i, 0, j, 0)
                        labels.setdefault(key, {})[mention.source, mention.ports] = None
                    elif other.replicas > 1:
                        peers.setdefault(i, {})[mention.source, mention.ports] = None
    calls = []
    for (i, row, j, target), sources_and_ports in labels.items():
        reverse_labels = labels.get((j, target, i, row))
        is_mutual = reverse_labels is not None and list(reverse_labels) == list(sources_and_ports)
        if not is_mutual or (i, row) < (j, target):
            calls.append(
                Call(f"p{i}", f"p{j}", _format_call_labels(sources_and_ports), is_mutual, row, target)
            )
    return tuple(calls), {i: _format_call_labels(said) for i, said in peers.items()}


def _format_call_labels(sources_and_ports: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return labels for where a host is named, grouped by port: ("PEERS, args :8080",)."""
    sources_by_ports: dict[str, list[str]] = {}
    for by, ports in sources_and_ports:
        sources_by_ports.setdefault(ports, []).append(by)
    return tuple(f"{', '.join(names)} {ports}".rstrip() for ports, names in sources_by_ports.items())


def _iter_targets(
    pod_cards: Sequence[PodCard], role: str, index: int | None
) -> Iterator[tuple[int, int, ReplicaGroup]]:
    """Yield the Pod groups that a host means: card, row and group. A Service of the whole job has no role."""
    for j, other in enumerate(pod_cards):
        for row, group in enumerate(other.groups):
            within = index is None or group.start <= index < group.start + group.replicas
            if role in ("", other.name) and within:
                yield j, row, group


def _build_sides(
    pod_cards: Sequence[PodCard],
    boards: Sequence[ReplicaGroup],
    by_kind: Mapping[str, Sequence[ReplicaGroup]],
) -> tuple[tuple[SideBox, ...], tuple[Link, ...]]:
    """Return the boxes beside the cards, with the cards that they belong to."""
    # A Job is drawn by its Pods, unless it is suspended.
    job_kinds = _OTHER_JOB_KINDS if pod_cards else (*_OTHER_JOB_KINDS, "Job")
    created_objects = [
        (kind, format_object_names(group))
        for kind in (*CONFIGURATION_KINDS, *job_kinds)
        for group in by_kind.get(kind, [])
    ]
    titles_by_use: dict[tuple[str, str], dict[str, list[str]]] = {key: {} for key in created_objects}
    links: dict[tuple[str, tuple[str, str]], None] = {}
    cards = [(f"p{i}", role.name, [g for group in role.groups for g in list_object_uses(group.doc.data)])
             for i, role in enumerate(pod_cards)]  # fmt: skip
    cards += [(f"t{i}", "TensorBoard", _list_tensorboard_uses(board)) for i, board in enumerate(boards)]
    for card, title, object_uses in cards:
        for object_use in dict.fromkeys(object_uses):
            key = (object_use.kind, object_use.name)
            titles = titles_by_use.setdefault(key, {}).setdefault(object_use.how, [])
            if title not in titles:
                titles.append(title)
            links[card, key] = None
    ids = {key: f"s{i}" for i, key in enumerate(titles_by_use)}
    sides = [
        SideBox(
            ids[key],
            key[0],
            key[1],
            _format_use_lines(hows),
            key[0] in CONFIGURATION_KINDS,
            key in created_objects,
        )
        for key, hows in titles_by_use.items()
    ]
    graph_links = [Link(card, ids[key]) for card, key in links]
    for i, service in enumerate(by_kind.get("Service", [])):
        sides.append(_build_service_side(f"v{i}", service))
        graph_links += [
            Link(f"p{j}", f"v{i}") for j, role in enumerate(pod_cards) if _serves_pods(service, role)
        ]
    return tuple(sides), tuple(graph_links)


def _build_source_side(i: int, doc: TracedDocument) -> SideBox:
    """Return the box of a document that the Pods come from."""
    name = get_text(get_mapping(doc.data, "metadata"), "name")
    return SideBox(f"r{i}", get_text(doc.data, "kind"), name, (doc.name,), is_left=True)


def _format_use_lines(titles_by_use: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return how an object reaches containers; with the roles, if they differ."""
    all_titles = {who for some in titles_by_use.values() for who in some}
    return tuple(
        how if set(who) == all_titles else f"{', '.join(who)}: {how}" for how, who in titles_by_use.items()
    )


def _list_tensorboard_uses(board: ReplicaGroup) -> list[ObjectUse]:
    logs = get_mapping(get_mapping(board.doc.data, "spec"), "logDir")
    claims = [
        ObjectUse("PersistentVolumeClaim", get_text(claim, "name"), "logs")
        for _, claim in get_entries(logs, "pvc")
    ]
    secret = get_text(get_mapping(get_mapping(logs, "s3"), "secretRef"), "name")
    return [*claims, *([ObjectUse("Secret", secret, "S3 access")] if secret else [])]


def _build_service_side(id: str, service: ReplicaGroup) -> SideBox:
    spec = get_mapping(service.doc.data, "spec")
    ports = [_format_port(port) for _, port in get_entries(spec, "ports")]
    headless = spec.get("clusterIP") == "None"
    count_text = f" × {service.replicas:,}" if service.replicas > 1 else ""
    kind = f"{'Headless Service' if headless else 'Service'}{count_text}"
    return SideBox(id, kind, format_object_names(service), tuple(ports), is_created=True)


def _format_port(port: Mapping[str, Any]) -> str:
    protocol = get_text(port, "protocol")
    return " ".join(
        filter(None, (f":{port.get('port')}", get_text(port, "name"), protocol if protocol != "TCP" else ""))
    )


def _serves_pods(service: ReplicaGroup, role: PodCard) -> bool:
    """Whether a Service selects the Pods of a card: of its role, or by its labels if it is of the whole
    job."""
    if service.replica_type:
        last = service.start + service.replicas
        return service.replica_type == role.name and any(
            group.start < last and service.start < group.start + group.replicas for group in role.groups
        )
    selector = get_mapping(get_mapping(service.doc.data, "spec"), "selector")
    labels = get_mapping(get_mapping(role.groups[0].doc.data, "metadata"), "labels")
    return all(labels.get(key) == value for key, value in selector.items())
