from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.core.limits import MAX_INSTANCES
from podplan.core.provenance import trace_to_source
from podplan.profile.resolve import RESOLUTION_FIELDS
from tests.profile_texts import BASE, doc, faults, line, messages, one, paths, profile, run
from tests.thoroughness import examples

FULL = profile("""
extends: [base.yaml]
image: registry.example.com/train:${{ params.tag }}
run: [train.py, --lr, "${{ matrix.lr * 2 }}", --out, "/out/${{ metadata.name }}/${{ environment }}"]
env: {B: null, C: {secret: wandb/key}}
roles: [{name: worker, env: {A: null}}, {name: extra, replicas: "${{ params.extra }}"}]
params: {tag: {type: string}, extra: {type: integer, default: 1}}
matrix: {axes: {lr: [0.1, 0.2], extra: [1, 2]}, exclude: [{lr: 0.2, extra: 2}]}
environments:
  dev: {replicas: 1, values: {tag: dev}, namespace: dev, labels: {stage: dev}, schedule: {queue: debug}}
  prod: {values: {tag: "1.0"}, roles: [{name: worker, hardware: big}], naming: {suffix: contentHash}}
""")
BASES = {
    "base.yaml": profile(
        """
job: PyTorchTrainingJob
replicas: 4
env: {A: "1", B: x}
roles: [{name: master}, {name: worker, env: {A: z}, replicas: 3}]
pod: {spec: {priorityClassName: high, dnsPolicy: null}}
schedule: {queue: research, priority: 10}
""",
        BASE,
    )
}


def test_everything_at_once() -> None:
    result = run(FULL, bases=BASES, environments="all", sets={"env.FLAG": "1"})
    assert result.diagnostics == ()
    assert [variant.id for variant in result.variants] == [
        *("dev/lr-0-1.extra-1", "dev/lr-0-1.extra-2", "dev/lr-0-2.extra-1"),
        *("prod/lr-0-1.extra-1", "prod/lr-0-1.extra-2", "prod/lr-0-2.extra-1"),
    ]
    assert result.variants[2].doc.data == {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {
            "name": "resnet-lr-0-2-extra-1",
            "namespace": "dev",
            "labels": {"stage": "dev"},
        },
        "spec": {
            "job": "PyTorchTrainingJob",
            "replicas": 1,
            "env": {"A": "1", "C": {"secret": "wandb/key"}, "FLAG": "1"},
            "roles": [
                {"name": "master"},
                {"name": "worker", "env": {"A": None}, "replicas": 3},
                {"name": "extra", "replicas": 1},
            ],
            "pod": {"spec": {"priorityClassName": "high", "dnsPolicy": None}},
            "schedule": {"queue": "debug", "priority": 10},
            "image": "registry.example.com/train:dev",
            "run": ["train.py", "--lr", 0.4, "--out", "/out/resnet/dev"],
        },
    }


def test_every_value_traces_to_a_line_or_a_flag() -> None:
    result = run(FULL, bases=BASES, environments="all", sets={"env.FLAG": "1", "replicas": "9"})
    for variant in result.variants:
        for path in paths(variant.doc.data):
            last = trace_to_source(variant.doc, path)[-1]
            assert last.doc.source is not None or (last.origin is not None and last.origin.flag is not None)
            if last.doc.source is not None:
                assert last.doc.source.span(last.path).line > 0


def test_values_that_nothing_touched_are_those_of_the_line() -> None:
    document = run(FULL, bases=BASES, environments=("dev",)).variants[0].doc
    for path in paths(document.data):
        value: Any = document.data
        for step in path:
            value = value[step]
        last = trace_to_source(document, path)[-1]
        if isinstance(value, str | int) and "computed" not in {
            s.origin.derivation for s in trace_to_source(document, path) if s.origin
        }:
            written: Any = last.doc.data
            for step in last.path:
                written = written[step]
            assert written == value


def test_a_plain_profile_is_its_own_resolution() -> None:
    result = run(profile("job: GenericJob\nimage: a"))
    assert result.variants[0].doc.source is not None
    assert (result.variants[0].id, result.variants[0].matrix) == ("", {})


def test_the_inventory_goes_along() -> None:
    inventory = doc("spec: {}\n", "inventory.yaml")
    assert run(profile("image: a"), inventory=inventory).variants[0].inventory is inventory


def test_nothing_of_the_steps_is_left() -> None:
    document = one(profile("image: a\n" + "\n".join(f"{step}: null" for step in RESOLUTION_FIELDS)))
    assert document.data["spec"] == {"image": "a"}


def test_equal_problems_of_many_instances_are_told_once() -> None:
    text = profile("image: ${{ params.x }}\nmatrix: {axes: {a: [1, 2, 3]}}\nenvironments: {b: {}, c: {}}")
    assert faults(text, environments="all") == [("PROF009", 5)]


def test_instances_of_all_environments_are_bounded_together() -> None:
    values = ", ".join(map(str, range(400)))
    text = profile(
        f"matrix: {{axes: {{a: [{values}]}}, maxInstances: 400}}\nenvironments: {{b: {{}}, c: {{}}, d: {{}}}}"
    )
    result = run(text, environments="all")
    assert len(result.variants) <= MAX_INSTANCES
    assert "PROF017" in {rule for rule, _ in faults(text, environments="all")}


def test_a_large_profile_with_many_instances_is_refused_and_not_built() -> None:
    rows = ", ".join(["a"] * 20_000)
    text = profile(
        f"run: [{rows}, '${{{{ matrix.a }}}}']\n"
        f"matrix: {{axes: {{a: [{', '.join(map(str, range(900)))}]}}, maxInstances: 900}}"
    )
    assert faults(text) == [("PROF017", 6)]


@pytest.mark.parametrize(
    "text",
    [
        "[1]\n",
        "3\n",
        "apiVersion: podplan/v1\n",
        "spec: 3\n",
        "spec: null\n",
        "spec: [a]\n",
        "metadata: 3\nspec: []\n",
    ],
)
def test_what_is_no_profile_is_left_to_the_schema(text: str) -> None:
    result = run(text, environments="all", sets={"replicas": "1"})
    assert (result.variants, result.diagnostics, result.failed) == ((), (), ("",))


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 9),
    st.sampled_from(
        ["", "a", "${{ params.a }}", "${{ matrix.a + 1 }}", "${{", "base.yaml", "none", "contentHash"]
    ),
)
keys = st.sampled_from(
    [
        *(
            "a",
            "b",
            "image",
            "run",
            "env",
            "roles",
            "data",
            "pod",
            "axes",
            "include",
            "exclude",
            "maxInstances",
        ),
        *("type", "default", "values", "labels", "namespace", "suffix", "name", "replicas"),
    ]
)
anything = st.recursive(
    leaves,
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(keys, below, max_size=4)),
    max_leaves=10,
)
named = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("ab")}, optional={"env": anything}), max_size=2
)
fields = {
    "image": leaves,
    "replicas": leaves,
    "run": anything,
    "env": st.dictionaries(st.sampled_from("AB"), leaves, max_size=2),
    "roles": st.one_of(named, anything),
    "pod": anything,
}
fragments = st.dictionaries(
    st.sampled_from("ab"), st.fixed_dictionaries({}, optional={"default": leaves}), max_size=2
)
overlays = st.fixed_dictionaries({}, optional={**fields, "values": anything, "labels": anything})
axes = st.dictionaries(
    st.sampled_from("ab"), st.lists(leaves, min_size=1, max_size=2), min_size=1, max_size=2
)
specs = st.fixed_dictionaries(
    {},
    optional={
        **fields,
        "extends": st.one_of(st.just(["base.yaml"]), anything),
        "params": st.one_of(fragments, anything),
        "environments": st.one_of(
            st.dictionaries(st.sampled_from(["dev", "a-1"]), overlays, max_size=2), anything
        ),
        "matrix": st.one_of(st.fixed_dictionaries({"axes": axes}), anything),
        "naming": st.one_of(st.fixed_dictionaries({"suffix": leaves}), anything),
    },
)
flags = st.dictionaries(
    st.sampled_from(["replicas", "params.a", "roles.a.replicas", "env.A", "labels.x", "pod.a", "x", ""]),
    st.sampled_from(["1", "a", "null", "${{ params.a }}"]),
    max_size=2,
)


@settings(max_examples=examples(300), deadline=None)
@given(specs, specs, flags)
def test_no_form_of_profile_raises_and_every_value_is_traced(
    spec: Any, base: Any, sets: dict[str, str]
) -> None:
    head = {"apiVersion": "podplan/v1", "metadata": {"name": "a"}}
    text = json.dumps({**head, "kind": "JobProfile", "spec": spec})
    bases = {"base.yaml": json.dumps({**head, "kind": "JobProfileBase", "spec": base})}
    result = run(text, bases=bases, environments="all", sets=sets)
    for variant in result.variants:
        assert not set(RESOLUTION_FIELDS) & set(variant.doc.data["spec"])
        for path in paths(variant.doc.data):
            last = trace_to_source(variant.doc, path)[-1]
            assert last.doc.source is not None or (last.origin is not None and last.origin.flag is not None)
    for problem in result.diagnostics:
        assert line(problem) >= 1
        assert problem.message[0] != problem.message[0].upper() or not problem.message[0].isalpha()
    assert result.variants or result.diagnostics
    ids = [variant.id for variant in result.variants]
    assert len(set(ids)) == len(ids)


SCRIPT = """
import sys
from tests.test_profile_resolve import BASES, FULL
from tests.profile_texts import run
for variant in run(FULL, bases=BASES, environments="all", sets={"env.FLAG": "1"}).variants:
    print(variant.id, variant.doc.data, sorted(variant.matrix.items()))
"""


@pytest.mark.long
def test_the_same_bytes_under_every_hash_seed() -> None:
    top = Path(__file__).parent.parent
    outputs = set()
    for seed in ("0", "1", "77"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": f"{top}{os.pathsep}{top / 'compiler'}",
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert outputs.pop().count("resnet") > 6


def test_a_plain_profile_loads_none_of_the_steps() -> None:
    code = (
        "import sys\n"
        "from podplan.profile.resolve import resolve_profile\n"
        "from podplan.core.provenance import TracedDocument\n"
        "doc = TracedDocument('x', {'spec': {'image': 'a'}, 'metadata': {}})\n"
        "resolve_profile(doc, load_base=None, inventory=None, environments=None, sets={})\n"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('jinja2', 'jsonschema_rs', 'difflib')"
        " or n.startswith('podplan.profile.')))"
    )
    top = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(top / "compiler")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert eval(done.stdout) == [
        "podplan.profile.expressions",
        "podplan.profile.merge",
        "podplan.profile.resolve",
        "podplan.profile.values",
    ]


def test_what_was_said_names_the_flag() -> None:
    assert messages(profile("image: a"), sets={"imag": "b"}).startswith("--set imag=b: ")


def test_the_examples_of_the_documentation() -> None:
    text = (Path(__file__).parent.parent / "docs" / "profile.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in text.split("```yaml\n")[1:]]
    whole, scalars, matrix, inventory = blocks
    assert [variant.doc.data["spec"]["run"][2] for variant in run(whole, environments="all").variants] == [
        90,
        1,
    ]
    assert one(profile(f"params: {{lr: {{default: 0.1}}}}\n{scalars}")).data["spec"]["replicas"] == 4
    assert len(run(profile(f"params: {{epochs: {{default: 1}}}}\n{matrix}")).variants) == 5
    assert doc(inventory).data["spec"]["hardware"]["h100x8"]["gpus"] == {"nvidia.com/gpu": 8}
