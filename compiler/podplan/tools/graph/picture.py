"""A CR and what it lowers to, as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.limits import MAX_DRAWN, BoundExceeded, beyond
from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, number, text
from podplan.tools.graph.hosts import hosts, mentions
from podplan.tools.graph.model import Call, Card, Gang, Link, Picture, Side
from podplan.tools.graph.mounts import LEFT, Given, given
from podplan.tools.graph.pods import Role, counted, image, name, roles, rows, runs

_GROUP_NAME = "scheduler.tensorstack.dev/group-name"


def picture(cr: Doc, groups: Sequence[Group], variant: str = "") -> Picture:
    """The picture of a CR that lowers to ``groups``; ``variant`` is the environment and matrix instance.

    Raises BoundExceeded for a job of more parts than anybody could look at.
    """
    by_kind: dict[str, list[Group]] = {}
    _demand_few(cr, len(groups))
    for group in groups:
        by_kind.setdefault(group.doc.data["kind"], []).append(group)
    found = roles(by_kind.get("Pod", []))
    gang = by_kind.get("PodGroup", [])
    boards = by_kind.get("TensorBoard", [])
    calls, peers = _calls(found, by_kind)
    cards = (
        *(_card(i, role, found, gang, peers.get(i, ())) for i, role in enumerate(found)),
        *(_board(i, board) for i, board in enumerate(boards)),
    )
    sides, links = _sides(found, boards, by_kind)
    _demand_few(cr, len(cards) + len(sides) + len(links) + len(calls))
    replicas = sum(role.replicas for role in found)
    data = cr.data
    return Picture(
        _name(data),
        data["kind"],
        tuple(_tags(data, variant)),
        " · ".join(filter(None, (f"{replicas:,} Pod{'' if replicas == 1 else 's'}", counted(_sum(found))))),
        "" if found else _why_nothing(data),
        _gang(gang[0], replicas) if gang else None,
        cards,
        sides,
        links,
        calls,
    )


def _demand_few(cr: Doc, parts: int) -> None:
    if parts > MAX_DRAWN:
        message = (
            f"a picture of {_name(cr.data)} would have {parts:,} parts, and at most {MAX_DRAWN:,} are drawn"
        )
        raise BoundExceeded(beyond("drawn", message))


def _name(cr: Mapping[str, Any]) -> str:
    metadata = mapping(cr, "metadata")
    return text(metadata, "name") or f"{text(metadata, 'generateName')}…"


def _tags(cr: Mapping[str, Any], variant: str) -> Iterator[str]:
    if namespace := text(mapping(cr, "metadata"), "namespace"):
        yield f"namespace {namespace}"
    if variant:
        yield variant
    spec = mapping(cr, "spec")
    for mode, tag in (("debug", "debug mode"), ("pause", "paused")):
        if mapping(mapping(spec, "runMode"), mode).get("enabled") is True:
            yield tag
    elastic = mapping(spec, "elastic")
    if elastic.get("enabled") is True:
        least, most = (elastic.get(key, "?") for key in ("minReplicas", "maxReplicas"))
        yield f"elastic, {least} to {most} replicas"


def _why_nothing(cr: Mapping[str, Any]) -> str:
    if mapping(mapping(mapping(cr, "spec"), "runMode"), "pause").get("enabled") is True:
        return "Paused: no Pods until it goes on (--resumed draws it as it is then)"
    return "No Pods: every replica type has 0 replicas"


def _gang(group: Group, replicas: int) -> Gang:
    spec = mapping(group.doc.data, "spec")
    least = number(spec, "minMember")
    of = f" of {replicas:,} Pods" if replicas else ""
    parts = [f"minMember {least:,}{of}", f"queue {spec.get('queue')}"]
    return Gang(name(group), " · ".join([*parts, f"priority {spec.get('priority')}"]))


def _sum(found: Sequence[Role]) -> dict[str, int]:
    total: dict[str, int] = {}
    for role in found:
        for label, count in role.gpus.items():
            total[label] = total.get(label, 0) + count * role.replicas
    return total


def _card(i: int, role: Role, found: Sequence[Role], gang: Sequence[Group], peers: Sequence[str]) -> Card:
    first = role.groups[0]
    alone = [other.name for other in found].count(role.name) == 1
    title = role.name if alone else f"{role.name} {first.indexes}"
    made = rows(role)
    fields = [*role.fields]
    if not made:
        fields.insert(1, ("runs", runs(first)))
    if peers:
        fields.append(("peers", ", ".join(peers)))
    labels = mapping(mapping(first.doc.data, "metadata"), "labels")
    return Card(
        f"p{i}",
        "Pods",
        f"{title} × {role.replicas:,}",
        _span(role.groups),
        counted(_sum([role])),
        tuple(fields),
        made,
        bool(gang) and labels.get(_GROUP_NAME, name(gang[0])) == name(gang[0]),
        role.replicas > 1,
    )


def _span(groups: Sequence[Group]) -> str:
    """The names of all Pods of a role: those of its first group with the count of all."""
    whole = groups[0]._replace(replicas=sum(group.replicas for group in groups))
    return name(whole)


def _board(i: int, board: Group) -> Card:
    spec = mapping(board.doc.data, "spec")
    sources = [label for key, label in (("s3", "S3"), ("http", "HTTP")) if mapping(spec, "logDir").get(key)]
    fields = [("image", image(text(spec, "image"))), ("logs", ", ".join(sources))]
    return Card(
        f"t{i}", "TensorBoard", "TensorBoard", name(board), "", tuple(field for field in fields if field[1])
    )


def _calls(
    found: Sequence[Role], by_kind: Mapping[str, Sequence[Group]]
) -> tuple[tuple[Call, ...], dict[int, tuple[str, ...]]]:
    """Who names whom; and by card, what its Pods name each other by."""
    known = hosts(by_kind.get("Service", []), by_kind.get("Pod", []))
    files = {text(mapping(g.doc.data, "metadata"), "name"): g.doc for g in by_kind.get("ConfigMap", [])}
    labels: dict[tuple[int, int, int, int], dict[tuple[str, str], None]] = {}
    peers: dict[int, dict[tuple[str, str], None]] = {}
    for i, role in enumerate(found):
        for row, group in enumerate(role.groups):
            for mention in mentions(group, known, files):
                for j, target, other in _targets(found, mention.role, mention.replica):
                    if (i, row) != (j, target):
                        key = (i, row, j, target) if i == j else (i, 0, j, 0)
                        labels.setdefault(key, {})[mention.by, mention.ports] = None
                    elif other.replicas > 1:
                        peers.setdefault(i, {})[mention.by, mention.ports] = None
    calls = []
    for (i, row, j, target), said in labels.items():
        back = labels.get((j, target, i, row))
        both = back is not None and list(back) == list(said)
        if not both or (i, row) < (j, target):
            calls.append(Call(f"p{i}", f"p{j}", _ways(said), both, row, target))
    return tuple(calls), {i: _ways(said) for i, said in peers.items()}


def _ways(said: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """By what somebody is named, those with the same ports together: ("PEERS, args :8080",)."""
    together: dict[str, list[str]] = {}
    for by, ports in said:
        together.setdefault(ports, []).append(by)
    return tuple(f"{', '.join(names)} {ports}".rstrip() for ports, names in together.items())


def _targets(found: Sequence[Role], role: str, index: int | None) -> Iterator[tuple[int, int, Group]]:
    """The Pod groups that a host stands for: card, row and group. A Service of the whole job has no role."""
    for j, other in enumerate(found):
        for row, group in enumerate(other.groups):
            within = index is None or group.start <= index < group.start + group.replicas
            if role in ("", other.name) and within:
                yield j, row, group


def _sides(
    found: Sequence[Role], boards: Sequence[Group], by_kind: Mapping[str, Sequence[Group]]
) -> tuple[tuple[Side, ...], tuple[Link, ...]]:
    """What stands beside the cards, with the cards that it belongs to."""
    made = [(kind, name(group)) for kind in LEFT for group in by_kind.get(kind, [])]
    ways: dict[tuple[str, str], dict[str, list[str]]] = {key: {} for key in made}
    links: dict[tuple[str, tuple[str, str]], None] = {}
    cards = [(f"p{i}", role.name, [g for group in role.groups for g in given(group.doc.data)])
             for i, role in enumerate(found)]  # fmt: skip
    cards += [(f"t{i}", "TensorBoard", _read_by(board)) for i, board in enumerate(boards)]
    for card, title, things in cards:
        for thing in dict.fromkeys(things):
            key = (thing.kind, thing.name)
            who = ways.setdefault(key, {}).setdefault(thing.how, [])
            if title not in who:
                who.append(title)
            links[card, key] = None
    ids = {key: f"s{i}" for i, key in enumerate(ways)}
    sides = [
        Side(ids[key], key[0], key[1], _lines(hows), key[0] in LEFT, key in made)
        for key, hows in ways.items()
    ]
    found_links = [Link(card, ids[key]) for card, key in links]
    for i, service in enumerate(by_kind.get("Service", [])):
        sides.append(_service(f"v{i}", service))
        found_links += [Link(f"p{j}", f"v{i}") for j, role in enumerate(found) if _serves(service, role)]
    return tuple(sides), tuple(found_links)


def _lines(hows: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """How something reaches containers; with the roles, where it is not the same for all that have it."""
    everybody = {who for some in hows.values() for who in some}
    return tuple(how if set(who) == everybody else f"{', '.join(who)}: {how}" for how, who in hows.items())


def _read_by(board: Group) -> list[Given]:
    logs = mapping(mapping(board.doc.data, "spec"), "logDir")
    claims = [
        Given("PersistentVolumeClaim", text(claim, "name"), "logs") for _, claim in entries(logs, "pvc")
    ]
    secret = text(mapping(mapping(logs, "s3"), "secretRef"), "name")
    return [*claims, *([Given("Secret", secret, "S3 access")] if secret else [])]


def _service(id: str, service: Group) -> Side:
    spec = mapping(service.doc.data, "spec")
    ports = [_port(port) for _, port in entries(spec, "ports")]
    headless = spec.get("clusterIP") == "None"
    many = f" × {service.replicas:,}" if service.replicas > 1 else ""
    kind = f"{'Headless Service' if headless else 'Service'}{many}"
    return Side(id, kind, name(service), tuple(ports), made=True)


def _port(port: Mapping[str, Any]) -> str:
    protocol = text(port, "protocol")
    return " ".join(
        filter(None, (f":{port.get('port')}", text(port, "name"), protocol if protocol != "TCP" else ""))
    )


def _serves(service: Group, role: Role) -> bool:
    """Whether a Service is of the Pods of a card: of its role, or by its labels if it is of the whole job."""
    if service.role:
        last = service.start + service.replicas
        return service.role == role.name and any(
            group.start < last and service.start < group.start + group.replicas for group in role.groups
        )
    wanted = mapping(mapping(service.doc.data, "spec"), "selector")
    labels = mapping(mapping(role.groups[0].doc.data, "metadata"), "labels")
    return all(labels.get(key) == value for key, value in wanted.items())
