"""Hypothesis strategies for CRs of all five systems: valid ones, and odd ones that may be valid."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tests.lowered_objects import API_VERSION, Object

SYSTEMS = ("GenericJob", "PyTorchTrainingJob", "DeepSpeedJob", "launcher", "replicaSpecs")
FEW = st.integers(0, 5)
MANY = st.one_of(FEW, st.sampled_from([10_000, 2_147_483_647]))

job_names = st.from_regex(r"[a-z]{3,7}(-[a-z0-9]{1,3})?", fullmatch=True)
types = st.sampled_from(["worker", "ps", "master", "node", "chief"])
# Without "-", so that no text is accidentally the name of a replica.
texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), exclude_characters="-"))
words = st.one_of(
    texts,
    st.sampled_from(
        ["$(type)", "$$(rank)", "r$(rank)", "$(nobody)", "$HOME", "it's", "a b", '{"x": 1}', "two\nlines"]
    ),
)
variable_names = st.from_regex(r"V_[A-Z0-9]{1,4}", fullmatch=True)
sources = st.sampled_from([
    {"secretKeyRef": {"name": "hub", "key": "token"}},
    {"configMapKeyRef": {"name": "settings", "key": "level", "optional": True}},
    {"fieldRef": {"fieldPath": "metadata.name"}},
])  # fmt: skip
labels = st.dictionaries(st.sampled_from(["team", "a/b", "replica-type"]), st.sampled_from(["x", "y"]))


@st.composite
def optional(draw: st.DrawFn, always: Object, /, **maybe: st.SearchStrategy[Any]) -> Object:
    """Draw ``always``, with any subset of ``maybe``."""
    found = dict(always)
    for key, strategy in maybe.items():
        if draw(st.booleans()):
            found[key] = draw(strategy)
    return found


def variables() -> st.SearchStrategy[list[Object]]:
    one = st.one_of(
        st.builds(lambda name, value: {"name": name, "value": value}, variable_names, words),
        st.builds(lambda name, source: {"name": name, "valueFrom": source}, variable_names, sources),
        st.builds(lambda name: {"name": name}, variable_names),
    )
    return st.lists(one, max_size=4, unique_by=lambda entry: entry["name"])


def containers(names: Sequence[str]) -> st.SearchStrategy[list[Object]]:
    def container(name: str) -> st.SearchStrategy[Object]:
        return optional(
            {"name": name, "image": "registry.example.com/train:1"},
            command=st.lists(words, max_size=3),
            args=st.lists(words, max_size=3),
            env=variables(),
            resources=st.just({"limits": {"cpu": "4", "nvidia.com/gpu": 8}}),
            volumeMounts=st.just([{"name": "data", "mountPath": "/data"}]),
            workingDir=st.just("/work"),
        )

    picked = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    return picked.flatmap(lambda chosen: st.tuples(*map(container, chosen)).map(list))


def templates(names: Sequence[str] = ("main", "worker", "python", "side")) -> st.SearchStrategy[Object]:
    spec = containers(names).flatmap(
        lambda found: optional(
            {"containers": found, "volumes": [{"name": "data", "emptyDir": {}}]},
            restartPolicy=st.sampled_from(["Always", "OnFailure", "Never"]),
            initContainers=st.just([{"name": "wait", "image": "busybox"}]),
            nodeSelector=st.just({"disk": "ssd"}),
        )
    )
    metadata = optional({}, labels=labels, annotations=st.just({"note": "x"}))
    return spec.flatmap(lambda found: optional({"spec": found}, metadata=metadata))


@st.composite
def run_modes(draw: st.DrawFn, names: Sequence[str]) -> Object:
    some = st.lists(st.sampled_from(names), unique=True, max_size=2)
    debug = [
        draw(optional({"type": n}, command=st.lists(words, max_size=2), skipInitContainer=st.booleans()))
        for n in draw(some)
    ]
    resume = [
        draw(optional({"type": n}, command=st.lists(words, max_size=2), args=st.lists(words, max_size=2)))
        for n in draw(some)
    ]
    return draw(
        optional(
            {},
            debug=st.fixed_dictionaries({"enabled": st.booleans(), "replicaSpecs": st.just(debug)}),
            pause=st.fixed_dictionaries({"enabled": st.booleans(), "resumeSpecs": st.just(resume)}),
        )
    )


def shared(names: Sequence[str]) -> dict[str, st.SearchStrategy[Any]]:
    """Return the fields that every kind may have."""
    section = optional({}, queue=st.just("research"), priority=st.integers(0, 100))
    return {"runMode": run_modes(names), "scheduler": optional({}, t9kScheduler=section)}


@st.composite
def elastic(draw: st.DrawFn) -> Object:
    least, expected, most = sorted(draw(st.tuples(FEW, FEW, FEW)))
    return {
        "enabled": draw(st.booleans()),
        "minReplicas": least,
        "expectedReplicas": expected,
        "maxReplicas": max(most, 1),
    }


@st.composite
def roles(
    draw: st.DrawFn, replicas: st.SearchStrategy[int], /, **maybe: st.SearchStrategy[Any]
) -> list[Object]:
    return [
        {
            **draw(optional({"type": name}, replicas=replicas, **maybe)),
            "template": draw(templates()),
        }
        for name in draw(st.lists(types, min_size=1, max_size=3, unique=True))
    ]


@st.composite
def generic_spec(draw: st.DrawFn, replicas: st.SearchStrategy[int]) -> Object:
    found = draw(roles(replicas))
    names = [role["type"] for role in found]
    for role in found:
        other, index = draw(st.sampled_from(names)), draw(st.integers(0, 6))
        address = f"--peer=$(service.{other}[{index}].host):$(service.port[http])/$(replicas[{other}])"
        role["template"]["spec"]["containers"][0].setdefault("args", []).append(address)
    ports = st.sampled_from([[], [{"name": "http", "port": 80}, {"name": "tls", "port": 443}]])
    service = st.fixed_dictionaries({"ports": ports})
    return draw(optional({"replicaSpecs": found}, service=service, **shared(names)))


@st.composite
def pytorch_spec(draw: st.DrawFn, replicas: st.SearchStrategy[int]) -> Object:
    found = draw(roles(replicas, scalingWeight=st.integers(0, 3)))
    torchrun = optional(
        {},
        enabled=st.booleans(),
        maxRestarts=st.integers(0, 9),
        procPerNode=st.sampled_from(["1", "8", "gpu", "auto"]),
        rdzvBackend=st.sampled_from(["c10d", "etcd-v2"]),
        extraOptions=st.lists(words, max_size=2),
    )
    return draw(
        optional(
            {"replicaSpecs": found},
            torchrunConfig=torchrun,
            elastic=elastic(),
            tensorboardSpec=st.just(
                {"image": "tb", "logDir": {"pvc": [{"name": "logs", "subPath": ["run"]}]}}
            ),
            **shared([role["type"] for role in found]),
        )
    )


@st.composite
def deepspeed_spec(draw: st.DrawFn, replicas: st.SearchStrategy[int]) -> Object:
    forms = st.sampled_from(["python", "module", "exec"])
    program = forms.flatmap(lambda form: st.fixed_dictionaries({form: st.lists(words, min_size=1)}))
    config = optional(
        {},
        run=program,
        slotsPerWorker=st.integers(1, 16),
        localRank=st.booleans(),
        autotune=st.sampled_from(["none", "run", "tune"]),
        otherArgs=st.lists(words, max_size=2),
        customCommand=st.just("deepspeed train.py"),
    )
    worker = {**draw(optional({}, replicas=replicas)), "template": draw(templates())}
    return draw(
        optional(
            {"worker": worker},
            config=config,
            elastic=elastic(),
            disableCustomEnv=st.booleans(),
            **shared(["worker"]),
        )
    )


@st.composite
def colossalai_spec(draw: st.DrawFn, replicas: st.SearchStrategy[int], dialect: str) -> Object:
    names = ["launcher", "worker"]
    settings = optional({}, authMountPath=st.just("/keys"), sshdPath=st.just("/opt/sshd"))
    script, options = st.lists(words, max_size=3), st.lists(words, max_size=2)
    template = draw(templates(["worker", "side"]))
    counted = draw(optional({}, replicas=replicas))
    if dialect == "launcher":
        launcher = optional(
            {},
            image=st.just("registry.example.com/launch:1"),
            env=variables(),
            resources=st.just({"limits": {"cpu": "1"}}),
        )
        numbers = optional({}, procPerWorker=st.integers(1, 8), command=script, torchArgs=options)
        worker = {**counted, **draw(numbers), "template": template}
        return draw(optional({"worker": worker}, launcher=launcher, ssh=settings, **shared(names)))
    config = optional({}, procPerWorker=st.integers(1, 8), script=script, extraArgs=options)
    entry = optional({"type": "launcher"}, template=st.one_of(st.just({}), templates(["launcher", "side"])))
    found = [{"type": "worker", **counted, "template": template}]
    if draw(st.booleans()):
        found.insert(draw(st.integers(0, 1)), draw(entry))
    return draw(optional({"replicaSpecs": found, "torchConfig": draw(config)}, ssh=settings, **shared(names)))


@st.composite
def crs(draw: st.DrawFn, replicas: st.SearchStrategy[int] = FEW, systems: Sequence[str] = SYSTEMS) -> Object:
    """Draw a valid CR."""
    system = draw(st.sampled_from(systems))
    specs: dict[str, Any] = {
        "GenericJob": generic_spec,
        "PyTorchTrainingJob": pytorch_spec,
        "DeepSpeedJob": deepspeed_spec,
    }
    spec = specs[system](replicas) if system in specs else colossalai_spec(replicas, system)
    metadata = optional(
        {"name": draw(job_names)},
        namespace=st.just("vision"),
        uid=st.uuids().map(str),
        labels=st.just({"team": "vision"}),
    )
    return {
        "apiVersion": API_VERSION,
        "kind": system if system in specs else "ColossalAIJob",
        "metadata": draw(metadata),
        "spec": draw(spec),
    }


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, [], {}, "", 0, -1, 1, 2_147_483_647, True, "x", [None], [{}], ["x"], {"name": None}]
)


@st.composite
def odd_crs(draw: st.DrawFn) -> Object:
    """Draw a CR with some parts removed or replaced."""
    cr = copy.deepcopy(draw(crs(MANY)))
    for _ in range(draw(st.integers(1, 4))):
        holder, key = draw(st.sampled_from(_places(cr)))
        if draw(st.booleans()):
            holder[key] = copy.deepcopy(draw(ODD))
        else:
            holder.pop(key)
    if draw(st.booleans()):
        cr["metadata"] = {"generateName": "generated-"}
    return cr


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Return every (holder, key) below ``data``."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    return [place for key in keys for place in ((data, key), *_places(data[key]))]
