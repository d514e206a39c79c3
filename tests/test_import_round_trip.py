"""Any spec comes back from the profile that it is imported as."""

from __future__ import annotations

import json
import re
from pathlib import Path as File
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import Severity
from podplan.core.provenance import TracedDocument
from podplan.core.structural_diff import is_same_data
from podplan.kinds.registry import COMPILED_KINDS, find_kind
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.tools.importer import drop_unknown_fields, import_cr, strip_server_fields
from podplan.tools.importer.normalization import normalize_cr
from podplan.workspace.documents import classify_documents
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_document
from tests.imported_profiles import compiled, cr_of, pod
from tests.rows import each_row
from tests.thoroughness import examples
from tests.wide_crs import wide_crs

FIXTURES = File(__file__).parent.parent / "fixtures"
GROUPS = re.compile(rb"batch[.]tensorstack[.]dev/|trainer[.]kubeflow[.]org/|jobset[.]x-k8s[.]io/|batch/v1\b")
CRS = sorted(file for file in FIXTURES.rglob("*.yaml") if GROUPS.search(file.read_bytes()))

NAMES = st.sampled_from(["a", "b", "worker", "launcher", "pytorch", "python", "dshm"])
WORDS = st.lists(st.sampled_from(["python", "-m", "train.py", "--n", "1", "", "yes"]), max_size=4)
QUANTITIES = st.sampled_from(["1", 1, 2, 8, "500m", "16Gi", 1.5])

JUNK = st.sampled_from([None, 0, "x", [], {}, True, [None], {"x": None}])


def fields(required: dict[str, Any] | None = None, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Maps with any of the fields; any value may be junk instead."""
    return st.fixed_dictionaries(
        required or {}, optional={name: st.one_of(*[value] * 9, JUNK) for name, value in optional.items()}
    )


REFERENCE = fields({}, name=NAMES, key=st.sampled_from(["k", "a/b"]), optional=st.booleans())
ENV = fields(
    {},
    name=NAMES,
    value=st.sampled_from(["1", "", "x y"]),
    valueFrom=fields(
        {}, secretKeyRef=REFERENCE, configMapKeyRef=REFERENCE, fieldRef=fields({}, fieldPath=NAMES)
    ),
)
RESOURCES = fields(
    {},
    limits=st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), QUANTITIES),
    requests=st.dictionaries(st.sampled_from(["cpu", "memory"]), QUANTITIES),
)
MOUNT = fields(
    {},
    name=NAMES,
    mountPath=st.sampled_from(["/a", "/b", "/dev/shm"]),
    subPath=NAMES,
    readOnly=st.booleans(),
    mountPropagation=st.just("None"),
)
VOLUME = fields(
    {},
    name=NAMES,
    persistentVolumeClaim=fields({}, claimName=NAMES, readOnly=st.booleans()),
    emptyDir=fields({}, medium=st.just("Memory"), sizeLimit=QUANTITIES),
    hostPath=fields({}, path=NAMES, type=NAMES),
    secret=fields({}, secretName=NAMES, defaultMode=st.just(420)),
)
PORT = fields(
    {},
    name=NAMES,
    containerPort=st.sampled_from([80, 81]),
    protocol=st.sampled_from(["TCP", "UDP"]),
    hostPort=st.just(80),
)
CONTAINER = fields(
    {},
    name=NAMES,
    image=NAMES,
    command=st.one_of(WORDS, st.just(["python"])),
    args=WORDS,
    workingDir=st.just("/w"),
    env=st.lists(ENV, max_size=3),
    ports=st.lists(PORT, max_size=2),
    resources=RESOURCES,
    volumeMounts=st.lists(MOUNT, max_size=3),
    securityContext=fields({}, privileged=st.booleans()),
)
TEMPLATE = fields(
    {},
    metadata=fields({}, labels=st.dictionaries(NAMES, NAMES, max_size=1)),
    spec=fields(
        {},
        containers=st.lists(CONTAINER, max_size=2),
        volumes=st.lists(VOLUME, max_size=3),
        restartPolicy=st.just("Never"),
        tolerations=st.lists(fields({}, key=NAMES), max_size=2),
    ),
)
START = fields({}, type=NAMES, skipInitContainer=st.booleans(), command=WORDS, args=WORDS)
RUN_MODE = fields(
    {},
    debug=fields({}, enabled=st.booleans(), replicaSpecs=st.lists(START, max_size=2)),
    pause=fields({}, enabled=st.booleans(), resumeSpecs=st.lists(START, max_size=2)),
)
SCHEDULER = fields({}, t9kScheduler=fields({}, queue=NAMES, priority=st.integers(0, 100)))
ELASTIC = fields(
    {}, enabled=st.booleans(), minReplicas=st.just(1), maxReplicas=st.just(4), expectedReplicas=st.just(2)
)
RUN_POLICY = fields(
    {},
    activeDeadlineSeconds=st.sampled_from([1, 60, 3600, 0]),
    backoffLimit=st.integers(0, 3),
    cleanUpPolicy=st.sampled_from(["None", "All", "none"]),
    cleanUpWorkers=st.booleans(),
)
COUNT = st.integers(0, 3)
RESTART = fields({}, policy=st.sampled_from(["Never", "ExitCode"]), limit=COUNT)
STRING_RESTART = st.sampled_from(["Never", "ExitCode", "never"])
TORCHRUN = st.sampled_from(
    [
        ["torchrun", "train.py"],
        ["torchrun", "--no-python", "./a"],
        ["torchrun", "--nproc-per-node=2", "-m", "a"],
        ["torchrun", "--nproc-per-node=gpu", "--max-restarts=1", "train.py"],
        *(
            ["torchrun", "--nnodes=2", *options, "train.py"]
            for address in ("job-worker-0-0.job", "job-0.a", "other")
            for options in (
                [
                    "--node-rank=$(JOB_COMPLETION_INDEX)",
                    f"--master-addr={address}",
                    "--master-port=29500",
                ],
                [
                    "--rdzv-backend=c10d",
                    f"--rdzv-endpoint={address}:29500",
                    f"--rdzv-id={address.partition('.')[0]}",
                ],
            )
        ),
    ]
)
SUSPENDED: dict[str, Any] = {
    "suspend": st.booleans(),
    "activeDeadlineSeconds": st.sampled_from([1, 60, 3600, 0]),
}
# Pods that torchrun may start, as often as any others.
TRAINING_TEMPLATE = st.one_of(
    TEMPLATE,
    fields(
        {},
        spec=fields(
            {},
            containers=st.lists(
                fields({}, name=NAMES, command=TORCHRUN, resources=RESOURCES), min_size=1, max_size=1
            ),
            restartPolicy=st.sampled_from(["Never", "OnFailure", "Always"]),
            subdomain=NAMES,
        ),
    ),
)
JOB_SPEC = st.integers(1, 3).flatmap(
    lambda count: fields(
        {},
        parallelism=st.just(count),
        completions=st.sampled_from([count, count, count, 7]),
        completionMode=st.sampled_from(["Indexed", "Indexed", "NonIndexed"]),
        backoffLimit=COUNT,
        ttlSecondsAfterFinished=COUNT,
        template=TRAINING_TEMPLATE,
        **SUSPENDED,
    )
)
NODE_TEMPLATE = fields(
    {},
    metadata=fields({}, labels=st.dictionaries(NAMES, NAMES, max_size=1)),
    spec=fields(
        {},
        containers=st.lists(
            fields(
                {"name": st.sampled_from(["node", "side"])},
                volumeMounts=st.lists(MOUNT, max_size=3),
                env=st.lists(ENV, max_size=1),
                securityContext=fields({}, privileged=st.booleans()),
            ),
            max_size=2,
        ),
        volumes=st.lists(VOLUME, max_size=3),
        nodeSelector=st.just({"a": "b"}),
    ),
)
PATCHED_NODES = fields(
    {},
    template=fields(
        {},
        spec=fields(
            {},
            replicatedJobs=st.lists(
                fields(
                    {"name": st.sampled_from(["node", "node", "launcher"])},
                    template=fields({}, spec=fields({}, template=NODE_TEMPLATE)),
                ),
                max_size=2,
            ),
        ),
    ),
)
GENERIC_ROLES = st.lists(
    fields({}, type=NAMES, replicas=COUNT, restartPolicy=RESTART, template=TEMPLATE), max_size=2
)
SPECS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "GenericJob": fields(
        {},
        replicaSpecs=GENERIC_ROLES,
        service=fields(
            {}, ports=st.lists(fields({}, name=NAMES, port=st.sampled_from([80, 81])), max_size=2)
        ),
        successRules=st.lists(st.dictionaries(NAMES, st.lists(COUNT, max_size=2), max_size=1), max_size=2),
        cleanUpPolicy=st.sampled_from(["All", "all"]),
        scheduler=SCHEDULER,
        runMode=RUN_MODE,
    ),
    "PyTorchTrainingJob": fields(
        {},
        replicaSpecs=st.lists(
            fields(
                {},
                type=NAMES,
                replicas=COUNT,
                scalingWeight=COUNT,
                restartPolicy=STRING_RESTART,
                template=TEMPLATE,
            ),
            max_size=3,
        ),
        torchrunConfig=fields(
            {},
            enabled=st.booleans(),
            maxRestarts=COUNT,
            procPerNode=st.sampled_from(["1", "2", "02", "gpu", "xpu", 2]),
            rdzvBackend=st.just("c10d"),
            extraOptions=WORDS,
        ),
        tensorboardSpec=fields(
            {}, image=NAMES, logDir=fields({}, pvc=st.lists(fields({}, name=NAMES), max_size=1))
        ),
        elastic=ELASTIC,
        runPolicy=RUN_POLICY,
        scheduler=SCHEDULER,
        runMode=RUN_MODE,
    ),
    "DeepSpeedJob": fields(
        {},
        worker=fields({}, replicas=COUNT, restartPolicy=STRING_RESTART, template=TEMPLATE),
        config=fields(
            {},
            customCommand=NAMES,
            slotsPerWorker=COUNT,
            localRank=st.booleans(),
            autotune=st.sampled_from(["run", "none"]),
            run=fields({}, python=WORDS, module=WORDS, exec=WORDS),
            otherArgs=WORDS,
        ),
        disableCustomEnv=st.booleans(),
        elastic=ELASTIC,
        runPolicy=RUN_POLICY,
        scheduler=SCHEDULER,
        runMode=RUN_MODE,
    ),
    "ColossalAIJob": fields(
        {},
        replicaSpecs=st.lists(
            fields(
                {"type": st.sampled_from(["launcher", "worker"])},
                replicas=COUNT,
                restartPolicy=RESTART,
                template=TEMPLATE,
            ),
            max_size=2,
        ),
        torchConfig=fields({}, procPerWorker=COUNT, script=WORDS, extraArgs=WORDS),
        ssh=fields({}, authMountPath=st.just("/root/.ssh"), sshdPath=st.just("/usr/sbin/sshd")),
        runPolicy=RUN_POLICY,
        scheduler=SCHEDULER,
        runMode=RUN_MODE,
    )
    | fields(
        {},
        launcher=CONTAINER,
        worker=fields(
            {}, replicas=COUNT, procPerWorker=COUNT, command=WORDS, torchArgs=WORDS, template=TEMPLATE
        ),
        runPolicy=RUN_POLICY,
        runMode=RUN_MODE,
    ),
    "TrainJob": fields(
        {},
        runtimeRef=fields({}, apiGroup=NAMES, kind=NAMES, name=NAMES),
        trainer=fields(
            {},
            image=NAMES,
            command=st.one_of(WORDS, TORCHRUN),
            args=WORDS,
            numNodes=COUNT,
            numProcPerNode=st.sampled_from([0, 1, 2, "auto", "2"]),
            env=st.lists(ENV, max_size=3),
            resourcesPerNode=RESOURCES,
        ),
        initializer=fields({}, model=fields({}, storageUri=NAMES)),
        runtimePatches=st.lists(
            fields(
                {"manager": st.sampled_from(["podplan.dev/profile", "a.b/c"])},
                trainingRuntimeSpec=PATCHED_NODES,
            ),
            max_size=2,
        ),
        **SUSPENDED,
    ),
    "JobSet": fields(
        {},
        replicatedJobs=st.lists(
            fields(
                {},
                name=NAMES,
                replicas=COUNT,
                groupName=NAMES,
                template=fields({}, metadata=st.just({"labels": {"a": "b"}}), spec=JOB_SPEC),
            ),
            max_size=2,
        ),
        failurePolicy=fields({}, maxRestarts=COUNT, restartStrategy=NAMES),
        network=fields({}, subdomain=NAMES),
        suspend=st.booleans(),
    ),
    "Job": JOB_SPEC,
}


def recorded_crs() -> list[Any]:
    """The CRs that real controllers got, of the kinds that other controllers make of them, too."""
    files = ("trainer/recorded.jsonl", "trainer/recorded-2.1.jsonl", "jobset/recorded.jsonl")
    lines = [line for file in files for line in (FIXTURES / file).read_text("utf-8").splitlines()]
    cases = [json.loads(line) for line in lines]
    return [(one["case"], one["cr"]) for one in cases if one["cr"]["kind"] in SPECS]


@each_row(("case", "cr"), recorded_crs)
def test_a_cr_that_a_real_controller_got_comes_back(case: str, cr: Any) -> None:
    text, problems = import_cr(cr)
    assert problems == [], case
    assert is_same_data(compiled(text), strip_server_fields(cr)), text


@pytest.mark.parametrize("kind", SPECS)
@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_any_spec_comes_back_from_its_profile(kind: str, data: st.DataObject) -> None:
    cr = cr_of(kind, data.draw(SPECS[kind]))
    text, _ = import_cr(cr)
    assert is_same_data(compiled(text), as_stored(cr))


def as_stored(cr: Any) -> Any:
    """A CR as the API server has it: with names of today, and without the fields that it drops."""
    return drop_unknown_fields(normalize_cr(strip_server_fields(cr), cr["kind"]).cr)[0]


def plans_of(text: str) -> tuple[list[JobPlan], list[str]]:
    """What a file is compiled and lowered to, as for podplan render, and the errors in it."""
    source = parse_yaml(text.encode(), "a.yaml")
    made = [
        plan
        for item in classify_documents(source)
        for plan in iter_job_plans(item, PipelineSettings(environments=None), Loader(TracedDocument("", {})))
    ]
    found = [
        *(fault.rule for fault in source.diagnostics),
        *(seen.rule for plan in made for seen in plan.diagnostics),
    ]
    return made, [rule for rule in found if BUILTIN_RULES[rule].severity is Severity.ERROR]


def is_taken(cr: Any) -> bool:
    """Whether podplan takes a CR as the API server stores it."""
    _, errors = plans_of(emit_document(as_stored(cr)))
    return not errors


def demand_same_job(cr: Any) -> None:
    """The profile of a CR that podplan takes is one that it takes, and renders to the CR."""
    text, problems = import_cr(cr)
    assert text, problems
    made, errors = plans_of(text)
    assert errors == [], text
    (plan,) = made
    assert plan.cr is not None
    assert is_same_data(plan.cr.data, as_stored(cr)), text


@settings(
    max_examples=examples(200, short=20), deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)
@given(wide_crs())
def test_a_cr_that_is_taken_has_a_profile_that_is_taken(cr: dict[str, Any]) -> None:
    assume(is_taken(cr))
    demand_same_job(cr)


BEST_PRACTICE = {
    "replicaSpecs": [
        {
            "type": "worker",
            "replicas": 4,
            "template": pod({"name": "pytorch", "image": "a:1", "args": ["a.py"]}),
        }
    ]
}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("PyTorchTrainingJob", {"torchrunConfig": {"enabled": False, "procPerNode": "1"}}),
        ("PyTorchTrainingJob", {"torchrunConfig": {"enabled": False, "maxRestarts": 0, "extraOptions": []}}),
        ("PyTorchTrainingJob", {"torchrunConfig": {"procPerNode": "4"}}),
        ("PyTorchTrainingJob", {"torchrunConfig": {"enabled": True, "procPerNode": "gpu"}}),
        ("PyTorchTrainingJob", {"torchrunConfig": {"enabled": False, "rdzvBackend": "${{ a }}"}}),
        ("PyTorchTrainingJob", {"elastic": {"enabled": False, "minReplicas": 1, "maxReplicas": 2}}),
        ("PyTorchTrainingJob", {"elastic": {"enabled": True, "minReplicas": 1}}),
        ("PyTorchTrainingJob", {"runMode": {"debug": {"enabled": False}, "pause": {"enabled": False}}}),
        ("PyTorchTrainingJob", {"scheduler": {}, "runPolicy": {}, "runMode": {}, "elastic": None}),
        ("PyTorchTrainingJob", {"unknown": {"a": 1}, "runPolicy": {"unknown": []}}),
        ("GenericJob", {"service": {"ports": []}, "successRules": [], "failureRules": None}),
        ("GenericJob", {"cleanUpPolicy": "None", "scheduler": {"t9kScheduler": {"priority": 0}}}),
    ],
    ids=str,
)
def test_states_that_a_profile_says_otherwise(kind: str, spec: dict[str, Any]) -> None:
    demand_same_job(cr_of(kind, {**spec, **BEST_PRACTICE}))


@pytest.mark.long
@each_row("file", CRS, ids=lambda file: str(file.relative_to(FIXTURES)))
def test_the_crs_of_the_fixtures(file: File) -> None:
    source = parse_yaml(file.read_bytes(), str(file))
    for item in classify_documents(source):
        data = item.doc.data
        if item.category != "cr":
            continue
        kind = find_kind(data.get("apiVersion"), data.get("kind"))
        if kind in COMPILED_KINDS.values() and is_taken(data):
            demand_same_job(data)
