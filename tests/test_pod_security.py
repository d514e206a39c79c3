"""The Pod Security Standards: against a real API server, and at the field at fault."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.lint.pod_security import (
    CONTROLS,
    find_applied_controls,
    find_violations,
    find_violations_beyond_baseline,
    may_violate,
    parse_minor_version,
)
from podplan.lint.pod_security.pod import find_written_fields
from tests.thoroughness import examples

VERDICTS = Path(__file__).parent.parent / "fixtures" / "pod_security" / "verdicts.jsonl.gz"
VERSION = "1.36"

Object = dict[str, Any]
Steps = tuple[str | int, ...]


@cache
def verdicts() -> list[Object]:
    """900 Pods, each with the names of the controls that it broke at 8 levels; of Kubernetes 1.36."""
    with gzip.open(VERDICTS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def halves() -> tuple[list[Object], list[Object]]:
    shuffled = list(verdicts())
    random.Random(7).shuffle(shuffled)
    return shuffled[:450], shuffled[450:]


@pytest.mark.parametrize("half", [0, 1])
def test_agrees_with_the_api_server(half: int) -> None:
    compared, wrong = 0, Counter[tuple[str, str, str]]()
    for entry in halves()[half]:
        for level_at_version, broken in entry["violations"].items():
            level, version = level_at_version.split("@")
            controls = find_applied_controls(level, version)
            assert set(broken) <= {CONTROLS[control].name for control in controls}
            for control in controls:
                compared += 1
                ours = bool(find_violations(entry["object"], control, version))
                if ours != (CONTROLS[control].name in broken):
                    wrong[level_at_version, control, "too strict" if ours else "missed"] += 1
    agreement = 1 - wrong.total() / compared
    print(f"half {half}: {compared - wrong.total()} of {compared} verdicts agree ({agreement:.2%})")
    assert compared == 46_800
    assert not wrong, wrong


# Control -> where its field stands below the Pod's spec or a container, and a value that is allowed there.
MENDED: dict[str, tuple[Steps, Any]] = {
    "hostNamespaces": ((), False),
    "privileged": ((), False),
    "capabilities": ((), "CHOWN"),
    "hostPathVolumes": ((), None),
    "hostPorts": ((), None),
    "hostProbes": ((), ""),
    "appArmorProfile": ((), "RuntimeDefault"),
    "seLinuxOptions": ((), ""),
    "procMount": ((), "Default"),
    "seccompProfile": ((), "RuntimeDefault"),
    "sysctls": ((), "kernel.shm_rmid_forced"),
    "hostProcess": ((), False),
    "restrictedVolumes": ((), None),
    "allowPrivilegeEscalation": (("securityContext", "allowPrivilegeEscalation"), False),
    "runAsNonRoot": (("securityContext", "runAsNonRoot"), True),
    "runAsUser": ((), 1000),
    "restrictedSeccompProfile": (("securityContext", "seccompProfile", "type"), "RuntimeDefault"),
    "restrictedCapabilities": (("securityContext", "capabilities", "drop"), ["ALL"]),
    "restrictedProcMount": ((), "Default"),
}


def mended(pod: Object, control: str, path: Steps) -> Object:
    """A copy of the Pod with the one field that a violation is about set right."""
    below, good = MENDED[control]
    if path[0] == "metadata":
        good = "runtime/default"
    elif control == "restrictedCapabilities" and "add" in path:
        below, good = (), "NET_BIND_SERVICE"
    base = path[:1] if path[1:2] in ((), ("securityContext",)) else path[:3]
    target = (*base, *below) if below else path
    assert target[: len(path)] == path, f"{path} does not lead to {target}"
    made = copy.deepcopy(pod)
    value: Any = made
    for step in target[:-1]:
        if isinstance(step, str) and value.get(step) is None:
            value[step] = {}
        value = value[step]
    value[target[-1]] = good
    return made


def exists(pod: Object, path: Steps) -> bool:
    value: Any = pod
    for step in path:
        if isinstance(value, dict) and step not in value:
            return False
        value = value[step]
    return True


def test_a_control_is_asked_of_each_pod_that_breaks_it() -> None:
    passed_over = 0
    for entry in verdicts():
        fields = find_written_fields(entry["object"])
        for control in CONTROLS:
            if not may_violate(control, fields):
                passed_over += 1
                assert not any(
                    find_violations(entry["object"], control, version) for version in ("1.24", "1.36")
                )
    assert passed_over > 5000


@pytest.mark.parametrize("version", ["1.24", "1.36"])
def test_each_violation_goes_away_with_the_field_at_its_path(version: str) -> None:
    tried = Counter[str]()
    for entry in verdicts():
        for control in CONTROLS:
            pod = entry["object"]
            while found := find_violations(pod, control, version):
                paths = {path for path, _ in found}
                assert len(paths) == len(found), "two violations at one place"
                assert all(exists(pod, path) for path in paths)
                pod = mended(pod, control, found[0][0])
                left = {path for path, _ in find_violations(pod, control, version)}
                assert left <= paths - {found[0][0]}, (control, found[0], entry["object"])
                tried[control] += 1
    missing = {"hostProcess"} | {
        name for name in CONTROLS if parse_minor_version(CONTROLS[name].since) > parse_minor_version(version)
    }
    if version == "1.36":
        missing.add("procMount")  # every unmasked Pod of the data has a user namespace
    assert set(tried) == set(CONTROLS) - missing
    assert tried.total() > 800


def pod(spec: Object, **metadata: Any) -> Object:
    containers = [{"name": "train", "image": "registry.example.com/train:1.0"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", **metadata},
        "spec": {"containers": containers, **spec},
    }


def sysctl(name: str) -> Object:
    return pod({"securityContext": {"sysctls": [{"name": name, "value": "1"}]}})


def with_context(listed: str, context: Object) -> Object:
    return pod({listed: [{"name": "extra", "securityContext": context}]})


WINDOWS = pod({"os": {"name": "windows"}})
PROBED = pod({"containers": [{"name": "train", "startupProbe": {"httpGet": {"host": "x", "port": 1}}}]})
UNMASKED = {"procMount": "Unmasked"}
USER_NAMESPACE = with_context("containers", UNMASKED)
USER_NAMESPACE["spec"]["hostUsers"] = False
ROOT_IN_USER_NAMESPACE = pod({"hostUsers": False, "securityContext": {"runAsUser": 0}})
NEARLY_ALL_DROPPED = {"capabilities": {"drop": ["ALL"], "add": ["KILL"]}}


# What the data shows at few versions or not at all: the answers just before a change and just after it.
@pytest.mark.parametrize(
    ("control", "before", "since", "subject", "fires"),
    [
        ("sysctls", "1.26", "1.27", sysctl("net.ipv4.ip_local_reserved_ports"), (True, False)),
        ("sysctls", "1.28", "1.29", sysctl("net.ipv4.tcp_keepalive_time"), (True, False)),
        ("sysctls", "1.31", "1.32", sysctl("net.ipv4.tcp_wmem"), (True, False)),
        ("sysctls", "1.36", "1.37", sysctl("net.ipv4.tcp_notsent_lowat"), (True, False)),
        (
            "seLinuxOptions",
            "1.30",
            "1.31",
            with_context("containers", {"seLinuxOptions": {"type": "container_engine_t"}}),
            (True, False),
        ),
        ("hostProbes", "1.33", "1.34", PROBED, (False, True)),
        ("procMount", "1.34", "1.35", USER_NAMESPACE, (True, False)),
        ("restrictedProcMount", "1.34", "1.35", USER_NAMESPACE, (False, True)),
        ("runAsNonRoot", "1.34", "1.35", USER_NAMESPACE, (True, False)),
        ("runAsUser", "1.34", "1.35", ROOT_IN_USER_NAMESPACE, (True, False)),
        ("runAsUser", "1.22", "1.23", ROOT_IN_USER_NAMESPACE, (False, True)),
        ("allowPrivilegeEscalation", "1.24", "1.25", WINDOWS, (True, False)),
        ("restrictedCapabilities", "1.24", "1.25", WINDOWS, (True, False)),
        ("restrictedSeccompProfile", "1.24", "1.25", WINDOWS, (True, False)),
        ("runAsNonRoot", "1.24", "1.25", WINDOWS, (True, True)),
    ],
)  # fmt: skip
def test_follows_the_version(
    control: str, before: str, since: str, subject: Object, fires: tuple[bool, bool]
) -> None:
    assert (
        bool(find_violations(subject, control, before)),
        bool(find_violations(subject, control, since)),
    ) == fires


@pytest.mark.parametrize("listed", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize(
    ("control", "context", "field"),
    [
        ("privileged", {"privileged": True}, ("privileged",)),
        ("hostProcess", {"windowsOptions": {"hostProcess": True}}, ("windowsOptions", "hostProcess")),
        ("procMount", UNMASKED, ("procMount",)),
        ("runAsUser", {"runAsUser": 0}, ("runAsUser",)),
        ("capabilities", {"capabilities": {"add": ["SYS_ADMIN"]}}, ("capabilities", "add", 0)),
        ("restrictedCapabilities", NEARLY_ALL_DROPPED, ("capabilities", "add", 0)),
    ],
)  # fmt: skip
def test_looks_at_every_kind_of_container(listed: str, control: str, context: Object, field: Steps) -> None:
    paths = [path for path, _ in find_violations(with_context(listed, context), control, VERSION)]
    assert ("spec", listed, 0, "securityContext", *field) in paths


def test_the_host_ports_that_host_network_makes_are_said_once() -> None:
    ports = [
        {"containerPort": 29500},
        {"containerPort": 6006, "hostPort": 0},
        {"containerPort": 22, "hostPort": 22},
    ]
    network = pod({"hostNetwork": True, "containers": [{"name": "train", "ports": ports}]})
    assert find_violations(network, "hostPorts", VERSION) == [
        (
            ("spec", "containers", 0, "ports", 2, "hostPort"),
            'container "train" takes port 22 of the node; leave hostPort out',
        ),
        (
            ("spec", "hostNetwork"),
            "hostNetwork is true, so the Pod takes the ports 29500, 6006 of the node; leave hostNetwork out",
        ),
    ]


def test_a_missing_field_is_said_once_for_the_pod_or_for_each_container_that_lacks_it() -> None:
    bare = pod({"initContainers": [{"name": "fetch"}]})
    assert find_violations(bare, "runAsNonRoot", VERSION) == [
        (("spec",), "neither the Pod nor its containers set runAsNonRoot; set it to true")
    ]
    bare["spec"]["containers"][0]["securityContext"] = {"runAsNonRoot": True}
    assert find_violations(bare, "runAsNonRoot", VERSION) == [
        (
            ("spec", "initContainers", 0),
            'neither the Pod nor init container "fetch" sets runAsNonRoot; set it to true',
        )
    ]


def test_a_container_without_a_name_goes_by_its_number() -> None:
    unnamed = pod({"containers": [{"name": "train"}, {}]})
    said = [message for _, message in find_violations(unnamed, "allowPrivilegeEscalation", VERSION)]
    assert [message.partition(" leaves")[0] for message in said] == ['container "train"', "container 2"]


@pytest.mark.parametrize(
    ("path", "instead"),
    [
        ("/data", "use a persistentVolumeClaim or another type of volume"),
        ("/dev/kfd", "ask for the device as a resource of its device plugin, such as nvidia.com/gpu"),
        ("/dev/shm/", "use an emptyDir with medium: Memory"),
    ],
)
def test_a_path_of_the_node_says_what_to_use_for_it(path: str, instead: str) -> None:
    mounted = pod({"volumes": [{"name": "a", "hostPath": {"path": path}}]})
    [(_, message)] = find_violations(mounted, "hostPathVolumes", VERSION)
    assert message == f'volume "a" is "{path}" of the node; {instead}'


def test_restricted_repeats_nothing_that_baseline_says() -> None:
    volumes = [{"name": "a", "hostPath": {"path": "/a"}}, {"name": "b", "nfs": {"server": "s", "path": "/"}}]
    mixed = pod({"volumes": volumes})
    assert [path for path, _ in find_violations(mixed, "restrictedVolumes", VERSION)] == [
        ("spec", "volumes", 0, "hostPath"),
        ("spec", "volumes", 1, "nfs"),
    ]
    assert [path for path, _ in find_violations_beyond_baseline(mixed, "restrictedVolumes", VERSION)] == [
        ("spec", "volumes", 1, "nfs")
    ]


@pytest.mark.parametrize(("text", "number"), [("1.36", 36), ("v1.9", 9), ("1.30.2", 30)])
def test_reads_versions(text: str, number: int) -> None:
    assert parse_minor_version(text) == number


@pytest.mark.parametrize("text", ["", "1", "2.0", "1.x", "latest", "1.²"])
def test_refuses_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version of Kubernetes"):
        find_violations(pod({}), "privileged", text)


def keys(value: Any) -> Iterator[str]:
    """Every key in a value, at any depth."""
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(inner)


KEYS = st.sampled_from(sorted({key for entry in verdicts() for key in keys(entry["object"])}))
ODD = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


def places(value: Any, path: Steps = ()) -> Iterator[Steps]:
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.data())
def test_odd_shapes_never_raise(data: st.DataObject) -> None:
    odd: Any = copy.deepcopy(verdicts()[data.draw(st.integers(0, 899))]["object"])
    for _ in range(3):
        path = data.draw(st.sampled_from(list(places(odd))))
        value = data.draw(ODD)
        if not path:
            odd = value
            continue
        holder: Any = odd
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
    for control in CONTROLS:
        for where, message in find_violations(odd, control, VERSION):
            assert exists(odd, where)
            assert "\n" not in message
            assert len(message) < 600


@pytest.mark.parametrize(
    ("control", "spec"),
    [
        ("hostNamespaces", {"hostNetwork": "true"}),
        ("runAsUser", {"securityContext": {"runAsUser": False}}),
        ("capabilities", {"containers": [{"securityContext": {"capabilities": {"add": "SYS_ADMIN"}}}]}),
        ("restrictedVolumes", {"volumes": [{"name": "scratch", "nfs": None}, None]}),
    ],
)
def test_other_shapes_are_the_business_of_the_schema(control: str, spec: Object) -> None:
    assert find_violations(pod(spec), control, VERSION) == []
