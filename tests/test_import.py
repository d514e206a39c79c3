"""CRs imported as profiles: golden pairs, the round trip, and the comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.tokens import CommentToken

from podplan import bundled
from podplan.emit import emit_document
from podplan.findings import pointer
from podplan.importing import Imported, as_written_by_people, import_cr, profile_for
from podplan.importing.comments import comments_of
from podplan.importing.layout import scalar, written
from podplan.importing.repairing import repaired
from podplan.kinds import API_VERSION, KINDS
from podplan.kinds._decompile import same
from podplan.kinds.compiling import compile_profile
from podplan.provenance import Doc, copied, root, split
from podplan.schema import check_against, check_cr
from podplan.source import Document, read
from tests.profiles import one

FIXTURES = File(__file__).parent.parent / "fixtures" / "import"
GOLDEN = sorted(path.parent for path in FIXTURES.glob("*/cr.yaml"))


def document(text: str) -> Document:
    source = read(text.encode(), "cr.yaml")
    assert not source.faults
    return source.documents[0]


def imported(text: str) -> Imported:
    found = document(text)
    return import_cr(Doc("cr.yaml", found.data, source=found))


def compiled(profile: str) -> Any:
    """The CR of the text of a profile."""
    found = document(profile)
    cr, problems = compile_profile(Doc("profile.yaml", found.data, source=found), None)
    assert problems == []
    assert cr is not None
    return cr.data


def cr_of(kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "job", **metadata}, "spec": spec}


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_a_cr_becomes_the_profile_of_the_fixture(case: File) -> None:
    text, problems = imported((case / "cr.yaml").read_text())
    assert problems == []
    assert text == (case / "profile.yaml").read_text()


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_the_profile_compiles_to_the_cr_again(case: File) -> None:
    text = (case / "cr.yaml").read_text()
    profile = imported(text).text
    assert same(compiled(profile), as_written_by_people(document(text).data))
    assert check_against("JobProfile", document(profile).data) == []


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_the_profile_renders_to_the_cr_again(case: File) -> None:
    text = (case / "cr.yaml").read_text()
    cr, problems = compile_profile(one(imported(text).text), None)
    assert cr is not None
    assert problems == []
    assert same(cr.data, as_written_by_people(document(text).data))


def test_what_looks_like_an_expression_is_none() -> None:
    template = {
        "spec": {
            "containers": [{"name": "worker", "image": "i:1", "args": ["${{ a }}", "$${{", "$(A) ${B}"]}]
        }
    }
    cr = cr_of("GenericJob", {"replicaSpecs": [{"type": "worker", "template": template}]})
    rendered, _ = compile_profile(one(import_cr(cr).text), None)
    assert rendered is not None
    assert same(rendered.data, cr)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_no_comment_is_lost_wherever_it_stands(case: File) -> None:
    marked, comments = commented((case / "cr.yaml").read_text())
    profile = imported(marked).text
    assert same(compiled(profile), as_written_by_people(document(marked).data))
    assert [comment for comment in comments if profile.count(comment) != 1] == []


def commented(text: str) -> tuple[str, list[str]]:
    """``text`` with a comment above and beside each line outside block scalars."""
    lines, comments = [], []
    block = -1
    for number, line in enumerate(text.splitlines()):
        indent = len(line) - len(line.lstrip())
        block = block if indent > block >= 0 else -1
        if block < 0:
            above, beside = f"# above {number}.", f"# beside {number}."
            lines += [" " * indent + above, f"{line}  {beside}"]
            comments += [above, beside]
            block = indent if re.search(r": [|>]-?$", line) else -1
        else:
            lines.append(line)
    return "\n".join(lines) + "\n", comments


# --- another reader ---------------------------------------------------------------------------------


def read_again(text: str) -> tuple[Any, list[str]]:
    """Data and comments of a text as ruamel.yaml reads them, which keeps both; in the order of the text."""
    data = YAML(typ="rt").load(text)
    found = {(token.start_mark.index, token.value) for token in comment_tokens(data)}
    lines = [line.strip() for _, value in sorted(found) for line in value.splitlines()]
    return json.loads(json.dumps(data)), [line for line in lines if line.startswith("#")]


def comment_tokens(node: Any) -> Iterator[CommentToken]:
    """The comments that are noted at a map or list, and at all below."""
    if isinstance(node, CommentedMap | CommentedSeq):
        yield from tokens_in([node.ca.comment, list(node.ca.items.values()), node.ca.end])
        for below in node.values() if isinstance(node, CommentedMap) else node:
            yield from comment_tokens(below)


def tokens_in(noted: Any) -> Iterator[CommentToken]:
    if isinstance(noted, CommentToken):
        yield noted
    for entry in noted if isinstance(noted, list) else ():
        yield from tokens_in(entry)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_another_reader_finds_the_data_and_the_comments_too(case: File) -> None:
    cr = (case / "cr.yaml").read_text()
    for text in (cr, commented(cr)[0]):
        profile = imported(text).text
        data, comments = read_again(profile)
        assert same(data, document(profile).data)
        assert sorted(comments) == sorted(read_again(text)[1])


# --- what is left out -------------------------------------------------------------------------------


def test_status_and_what_the_server_sets_are_left_out() -> None:
    cr = cr_of(
        "GenericJob",
        {"replicaSpecs": [{"type": "worker", "replicas": 2, "template": None}]},
        uid="1",
        resourceVersion="2",
        generation=3,
        creationTimestamp="2024-01-01T00:00:00Z",
        managedFields=[{}],
        selfLink="/x",
        annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        labels={"a": "b"},
    )
    text, problems = import_cr({**cr, "status": {"phase": "Running"}})
    assert problems == []
    assert document(text).data == {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {"name": "job", "labels": {"a": "b"}},
        "spec": {"job": "GenericJob", "replicas": 2},
    }


def test_metadata_that_a_profile_does_not_have_is_told() -> None:
    problems = import_cr(cr_of("GenericJob", {}, clusterName="x")).problems
    assert [(p.rule, p.path) for p in problems] == [("PROF026", ("metadata", "clusterName"))]


def test_a_kind_in_its_old_spelling_is_imported_in_the_right_one() -> None:
    text, problems = import_cr(cr_of("DeepspeedJob", {"worker": {"replicas": 1}}))
    assert [p.rule for p in problems] == ["PROF026"]
    assert document(text).data["spec"] == {"job": "DeepSpeedJob", "replicas": 1}


@pytest.mark.parametrize(
    ("cr", "message"),
    [
        ([], "this is not a job: its spec is not a mapping"),
        (cr_of("GenericJob", []), "this is not a job: its spec is not a mapping"),
        (
            {**cr_of("GenericJob", {}), "apiVersion": "v1"},
            "only jobs of batch.tensorstack.dev/v1beta1 can be",
        ),
        (cr_of("MPIJob", {}), "a MPIJob cannot be imported; there is PyTorchTrainingJob, DeepSpeedJob, "),
        (cr_of("GenericJobList", {}), "a GenericJobList cannot be imported; "),
    ],
)
def test_what_is_no_job_is_refused(cr: Any, message: str) -> None:
    text, problems = import_cr(cr)
    assert text == ""
    assert problems[0].rule == "PROF025"
    assert problems[0].message.startswith(message)


def test_what_no_field_says_becomes_an_override_with_a_reason() -> None:
    spec = {"config": {"slotPerWorkers": 1, "run": {"python": [7]}}, "worker": {"replicas": 2}}
    profile = profile_for(cr_of("DeepSpeedJob", spec))
    assert profile["spec"] == {
        "job": "DeepSpeedJob",
        "replicas": 2,
        "override": [
            {
                "reason": "without this, config would differ from the imported CR",
                "spec": {"config": spec["config"]},
            }
        ],
    }


# --- old spellings ------------------------------------------------------------------------------------

OLD = json.loads(bundled.read("schemas", "old-spellings.json"))
OLD_CASES = yaml.safe_load((FIXTURES / "old-spellings.yaml").read_text())
RIGHT = "; the profile has it right"


@pytest.mark.parametrize("case", OLD_CASES, ids=lambda case: case["said"][0])
def test_old_spellings_are_right_in_the_profile(case: Any) -> None:
    cr = cr_of(case["kind"], case["spec"])
    text, problems = import_cr(cr)
    told = [f"{pointer(p.path)} {p.message}" for p in problems]
    assert told == [f"{line}{RIGHT}" for line in case["said"]]
    assert {p.rule for p in problems} == {"PROF026"}
    rendered = compiled(text)
    assert rendered["spec"] == case["now"]
    assert check_cr(rendered, "1.34").problems == []


def test_every_old_spelling_has_a_case() -> None:
    said = [line.split()[0] for case in OLD_CASES for line in case["said"]]
    now = [line for case in OLD_CASES for line in pointers(case["now"], "/spec")]
    for entries, places in ((OLD["fields"], said), (OLD["words"], now)):
        for entry in entries:
            steps = entry["path"].replace("*", "[a-z0-9]+").replace("replicaSpecs", "replica(Specs|sSpec)")
            place = re.compile("/" + steps.replace(".", "/"))
            assert entry["path"].startswith("status.") or any(map(place.fullmatch, places)), entry["path"]


def pointers(data: Any, place: str) -> Iterator[str]:
    yield place
    for step, below in data.items() if isinstance(data, dict) else ():
        yield from pointers(below, f"{place}/{step}")
    for step, below in enumerate(data) if isinstance(data, list) else ():
        yield from pointers(below, f"{place}/{step}")


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("DeepSpeedJob", {"config": {"slotPerWorker": 1, "slotsPerWorker": 2}}),
        ("DeepSpeedJob", {"config": {"run": {"python": "a.py 'b"}}}),
        ("DeepSpeedJob", {"config": 7, "worker": {"slotsPerWorker": 2}}),
        ("GenericJob", {"runPolicy": {"cleanUpPolicy": "All", "backoffLimit": 1}}),
        ("GenericJob", {"cleanUpPolicy": "somehow"}),
        ("PyTorchTrainingJob", {"elastic": {"minReplicas": 1}, "torchrunConfig": {"minNodes": 2}}),
    ],
)
def test_what_cannot_be_repaired_stays(kind: str, spec: Any) -> None:
    cr = cr_of(kind, spec)
    text, problems = import_cr(cr)
    assert problems == []
    assert same(compiled(text), cr)


def test_comments_go_with_what_was_repaired() -> None:
    text = (
        "apiVersion: batch.tensorstack.dev/v1beta1\nkind: DeepSpeedJob\nmetadata: {name: a}\nspec:\n"
        "  config:\n    slotPerWorker: 2  # of 8\n    run:\n      python: a.py -v  # the program\n"
    )
    profile = imported(text).text
    assert "\n  run: [a.py, -v]  # the program\n  processes: 2  # of 8\n" in profile


@pytest.mark.parametrize("kind", ["GenericJob", "PyTorchTrainingJob"])
@pytest.mark.parametrize(
    ("container", "run"),
    [
        ({"command": ["python", "x.py", "-v"]}, ["x.py", "-v"]),
        ({"command": ["python", "-m", "pkg.x", "-v"]}, {"module": ["pkg.x", "-v"]}),
        ({"command": ["./x", "-v"]}, {"exec": ["./x", "-v"]}),
        ({"command": ["python"]}, {"exec": ["python"]}),
        ({"command": ["python"], "args": ["x.py"]}, {"command": ["python"], "args": ["x.py"]}),
        ({"args": ["x.py"]}, {"args": ["x.py"]}),
    ],
)
def test_a_script_under_python_is_run_as_a_list(kind: str, container: Any, run: Any) -> None:
    cr = cr_of(kind, {"replicaSpecs": [{"type": "worker", "template": pod({"image": "i:1", **container})}]})
    profile = profile_for(cr)
    assert profile["spec"]["run"] == run
    assert "override" not in profile["spec"]


def pod(*containers: Any, **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), **spec}}


CODE, DATA_VOLUME = {"name": "code", "emptyDir": {}}, {"name": "data", "nfs": {"server": "s", "path": "/"}}
MOUNTS = [{"name": "data", "mountPath": "/d"}, {"name": "code", "mountPath": "/c"}]


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {}},
        pod(),
        pod({"image": "i:1"}),
        pod({"name": "worker"}),
        pod({"name": "a"}, {"name": "a", "image": "i:1"}),
        pod({"image": "i:1"}, {"name": "b"}),
        pod({"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "X", "value": "2"}]}),
        pod({"name": "a", "env": [{"name": "X"}, {"name": "Y", "value": "2"}]}),
        pod({"name": "a", "ports": [{"name": "http", "containerPort": 80}]}),
        pod({"name": "a", "ports": [{"containerPort": 80}, {"name": "http", "containerPort": 81}]}),
        pod({"name": "a", "volumeMounts": MOUNTS}, volumes=[CODE, DATA_VOLUME]),
        pod({"name": "a", "volumeMounts": MOUNTS}, volumes=[DATA_VOLUME, CODE]),
        pod({"name": "a", "volumeMounts": MOUNTS}),
        pod({"name": "a"}, volumes=[CODE, CODE]),
        pod({"name": "a", "command": "sh", "args": ["x"]}),
        pod({"name": "a", "command": [], "args": []}),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["GenericJob", "PyTorchTrainingJob"])
def test_templates_of_every_shape_need_no_override(kind: str, template: Any) -> None:
    for names in (["worker"], ["node"], ["a", "b"]):
        cr = cr_of(kind, {"replicaSpecs": [{"type": name, "template": template} for name in names]})
        assert "override" not in profile_for(cr)["spec"]


SIDECAR, TAIL = {"name": "side", "image": "log:1"}, {"name": "tail", "image": "log:2"}


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        ("PyTorchTrainingJob", "python", "replicaSpecs"),
        ("DeepSpeedJob", "worker", "worker"),
        ("ColossalAIJob", "worker", "replicaSpecs"),
        ("ColossalAIJob", "worker", "worker"),
    ],
)
def test_a_container_before_the_one_that_trains_stays_there(kind: str, name: str, place: str) -> None:
    template = pod(SIDECAR, {"name": name, "image": "i:1"}, TAIL, nodeName="n")
    entry = {"replicas": 2, "template": template}
    cr = cr_of(kind, {place: [{"type": "worker", **entry}] if place == "replicaSpecs" else entry})
    profile = profile_for(cr)
    assert "override" not in profile["spec"]
    role = {**profile["spec"], **profile["spec"].get("roles", [{}])[0]}
    assert role["image"] == "i:1"
    assert role["pod"]["spec"]["containers"] == [SIDECAR, {"name": name}, TAIL]
    assert same(compiled(written(profile)), as_written_by_people(cr))


def test_two_equal_replica_types_leave_the_rest_to_fields() -> None:
    entry = {"type": "worker", "replicas": 2, "template": pod({"name": "python", "image": "i:1"})}
    rest = {"torchrunConfig": {"enabled": True}, "scheduler": {"t9kScheduler": {"queue": "a"}}}
    profile = profile_for(cr_of("PyTorchTrainingJob", {**rest, "replicaSpecs": [entry, entry]}))["spec"]
    assert {**profile, "override": None} == {
        "job": "PyTorchTrainingJob",
        "launcher": "torchrun",
        "schedule": {"queue": "a"},
        "override": None,
    }
    [override] = profile["override"]
    assert override["reason"] == "without this, replicaSpecs would differ from the imported CR"
    assert override["spec"] == {"replicaSpecs": [entry, entry]}


LAUNCHER, WORKER = pod({"name": "launcher", "image": "i:1"}), pod({"name": "worker", "image": "i:1"})
OTHER_LAUNCHER = pod({"name": "launcher", "image": "i:2", "workingDir": "/w"}, nodeName="n")


@pytest.mark.parametrize(
    ("roles", "written"),
    [
        ([("launcher", LAUNCHER), ("worker", WORKER)], []),
        ([("worker", WORKER), ("launcher", LAUNCHER)], ["worker", "launcher"]),
        ([("worker", WORKER)], ["worker"]),
        ([("launcher", LAUNCHER)], ["launcher"]),
        ([("launcher", {}), ("worker", WORKER)], ["launcher", "worker"]),
        ([("launcher", OTHER_LAUNCHER), ("worker", WORKER)], ["launcher"]),
    ],
)
def test_roles_of_a_colossalai_job_are_written_where_they_differ(
    roles: list[tuple[str, Any]], written: list[str]
) -> None:
    specs = [{"type": name, "template": template} for name, template in roles]
    spec = profile_for(cr_of("ColossalAIJob", {"replicaSpecs": specs}))["spec"]
    assert "override" not in spec
    assert [role["name"] for role in spec.get("roles", [])] == written


def test_an_entry_of_a_list_keeps_its_own_comments() -> None:
    text = (
        "# of the list\napiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: batch.tensorstack.dev/v1beta1\n  kind: GenericJob\n  metadata: {name: a}\n"
        "  spec: {replicaSpecs: [{type: worker, replicas: 1}]}  # of a\n"
        "- apiVersion: batch.tensorstack.dev/v1beta1\n  kind: GenericJob\n  metadata: {name: b}\n"
        "  spec:\n    cleanUpPolicy: All  # of b\n    replicaSpecs: [{type: worker}]\n"
    )
    found = document(text)
    doc = Doc("cr.yaml", found.data, source=found)
    entry = split(copied(root(doc)["items"][1]), "b")
    assert import_cr(entry).text == (
        "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: b}\n"
        "spec:\n  job: GenericJob\n  cleanUp: All  # of b\n"
    )


def test_a_comment_that_every_role_has_is_said_once() -> None:
    role = "    template:\n      spec:\n        # not root\n        securityContext: {runAsUser: 1000}\n"
    text = (
        "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nmetadata: {name: a}\n"
        f"spec:\n  replicaSpecs:\n  - type: ps\n{role}  - type: worker\n{role}"
    )
    profile = imported(text).text
    assert profile.count("# not root") == 1
    assert same(compiled(profile), document(text).data)


SCHEDULER_LATER = "  # scheduler:\n  #   t9kScheduler: {queue: default}\n"
DEEPSPEED_WORKER = (
    "  worker:\n    replicas: 2\n    template:\n      spec:\n        containers:\n"
    "        - name: worker\n          image: i:1\n"
)


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        (
            "DeepSpeedJob",
            f"{{}}  config: {{slotsPerWorker: 1, run: {{python: [a.py]}}}}\n{DEEPSPEED_WORKER}",
            "run",
        ),
        ("DeepSpeedJob", f"  config: {{run: {{python: [a.py]}}}}\n{{}}{DEEPSPEED_WORKER}", "image"),
        (
            "ColossalAIJob",
            "{}  ssh: {sshdPath: /usr/sbin/sshd}\n  torchConfig: {script: [a.py]}\n",
            "colossalai",
        ),
        ("GenericJob", "  cleanUpPolicy: All\n{}  replicaSpecs: [{type: a}, {type: b}]\n", "roles"),
        ("GenericJob", "{}  cleanUpPolicy: All\n  service: {selector: {a: b}}\n", "cleanUp"),
    ],
)
def test_a_comment_between_fields_of_the_spec_stays_between_them(kind: str, spec: str, field: str) -> None:
    head = f"apiVersion: batch.tensorstack.dev/v1beta1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n"
    profile = imported(head + spec.replace("{}", SCHEDULER_LATER, 1)).text
    assert f"\n{SCHEDULER_LATER}  {field}:" in profile


@pytest.mark.parametrize("indent", ["  ", "    "])
def test_a_comment_at_the_end_of_the_spec_stays_there(indent: str) -> None:
    text = (
        "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nmetadata: {name: a}\nspec:\n"
        f"  cleanUpPolicy: All\n  replicaSpecs:\n{indent}- type: worker\n{indent}  template:\n"
        f"{indent}    spec: {{nodeName: gpu}}\n{SCHEDULER_LATER}"
    )
    assert imported(text).text.endswith(f"\n  pod: {{spec: {{nodeName: gpu}}}}\n{SCHEDULER_LATER}")


def test_a_comment_above_the_spec_stays_above_it() -> None:
    text = (
        "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nmetadata: {name: a}\n"
        "# what runs\nspec: {cleanUpPolicy: All}\n"
    )
    assert "\n# what runs\nspec:\n" in imported(text).text


def test_comments_of_other_documents_stay_there() -> None:
    one = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nmetadata: {name: a}\nspec: {}\n"
    text = f"# first\n{one}# end of first\n---\n# second\n{one}# end\n"
    documents = read(text.encode(), "f").documents
    assert [c.text for c in comments_of(documents[0])] == ["# first", "# end of first"]
    assert [c.text for c in comments_of(documents[1])] == ["# second", "# end"]


def test_a_hash_inside_a_scalar_is_no_comment() -> None:
    text = "a: 'x # no'  # also\nb: \"y # no\"\nc: x#no\nd: |\n  # no\n  z # no\ne: p  # yes\n"
    assert [(c.text, c.where, c.path) for c in comments_of(document(text))] == [
        ("# also", "beside", ("a",)),
        ("# yes", "beside", ("e",)),
    ]


def test_a_comment_behind_a_bare_dash_is_about_its_entry() -> None:
    text = "a: 1\nb:\n-  # first\n  c: 1\n- # second\n  d\n- - e  # inner\n"
    assert [(c.text, c.where, c.path) for c in comments_of(document(text))] == [
        ("# first", "beside", ("b", 0)),
        ("# second", "beside", ("b", 1)),
        ("# inner", "beside", ("b", 2, 0)),
    ]


# --- text -------------------------------------------------------------------------------------------

WORDS_OF_YAML = (
    "yes",
    "No",
    "~",
    "null",
    "0x1F",
    "1e3",
    "12:30",
    "017",
    "16Gi",
    "1_0",
    ".5",
    "1.",
    "=",
    "<<",
)
LINES = ("a\nb", "a\nb\n", "a\n\n", "\na", " a\nb", "a\n b\n", "#a\nb", "a\tb\n", "a\nb ")
SIGNS = (
    "-",
    "--",
    "- a",
    "a: b",
    "a #b",
    "'",
    '"',
    "\\",
    "\t",
    "{a}",
    "a:b",
    "a:",
    "a,b",
    "&a",
    "*a",
    "!a",
    "%a",
)
OTHERS = (
    ".a",
    "/a",
    "-a",
    "é",
    "😀",
    "\x85",
    "\u2028",
    "\ufeff",
    "\x00",
    "?",
    "? a",
    "...",
    "---",
    "@a",
    "`a",
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer()),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from((*WORDS_OF_YAML, *LINES, *SIGNS, *OTHERS)),
)
DATA = st.recursive(
    SCALARS,
    lambda below: (
        st.lists(below, max_size=4) | st.dictionaries(st.text("ab-:# ", max_size=3), below, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["spec", "a", "b"]), DATA, min_size=1))
def test_data_reads_back_as_it_was_written(data: dict[str, Any]) -> None:
    assert same(document(written(data)).data, data)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("train.py", "train.py"),
        ("--epochs", "--epochs"),
        ("registry.example.com:5000/a/b@sha256:0f", "registry.example.com:5000/a/b@sha256:0f"),
        ("16Gi", "16Gi"),
        ("90", '"90"'),
        ("on", '"on"'),
        ("$(A)", '"$(A)"'),
        ('{"a": 1}', """'{"a": 1}'"""),
        (90, "90"),
        (1e-05, "1.0e-05"),
        (True, "true"),
        (None, "null"),
    ],
)
def test_scalars_are_as_plain_as_they_can_be(value: Any, text: str) -> None:
    assert scalar(value) == text


# --- the round trip ---------------------------------------------------------------------------------

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
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_spec_comes_back_from_its_profile(kind: str, data: st.DataObject) -> None:
    cr = cr_of(kind, data.draw(SPECS[kind]))
    text, _ = import_cr(cr)
    assert same(compiled(text), repaired(as_written_by_people(cr), kind).cr)


def test_the_import_is_the_same_for_the_same_text() -> None:
    text = (GOLDEN[0] / "cr.yaml").read_text()
    assert imported(text) == imported(text)
    assert emit_document(document(imported(text).text).data)
