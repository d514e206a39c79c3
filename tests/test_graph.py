"""Pictures of jobs: goldens to look at, and what holds for any of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.graph.layout import columns, laid_out
from podplan.graph.mermaid import mermaid
from podplan.graph.model import Call, Card, Gang, Link, Picture, Row, Side, said, shared
from podplan.graph.picture import picture
from podplan.graph.pods import name as folded_name
from podplan.graph.svg import svg
from podplan.graph.words import fit, width, wrap
from podplan.groups import Group, Options
from podplan.kinds import lower_cr
from podplan.kubernetes import DEFAULT_VERSION
from podplan.limits import BoundExceeded
from podplan.pruning import pruned
from podplan.schema import check_cr
from tests.effort import examples
from tests.golden import FIXTURES, Case, cases, copy, podplan, produced
from tests.lowering import Object, document, job, lower
from tests.strategies import crs, odd_crs

ROOT = Path(__file__).parents[1]
SVG = "{http://www.w3.org/2000/svg}"
PICTURES = FIXTURES / "graph"
# Cases of the kinds that have a picture; those of fixtures/graph bring their own CR.
DRAWN = {
    "pytorch_torchrun": "pytorch_training_job/torchrun",
    "pytorch_elastic": "pytorch_training_job/elastic",
    "pytorch_debug": "pytorch_training_job/debug",
    "pytorch_master_and_workers": "pytorch_training_job/master_and_workers",
    "pytorch_tensorboard": "pytorch_training_job/tensorboard",
    "deepspeed": "deepspeed_job/script",
    "colossalai_launcher": "colossalai_job_launcher/palm",
    "colossalai_replicas": "colossalai_job_replicas/both_roles",
    "generic_roles": "generic_job/parameter_server",
    "generic_volumes": "generic_job/batch_inference",
    "generic_paused": "generic_job/paused",
}
OWN = sorted(folder.name for folder in PICTURES.iterdir() if (folder / "cr.yaml").exists())
ALL = list(cases())


def case_of(name: str) -> Case:
    return Case(FIXTURES / DRAWN[name] if name in DRAWN else PICTURES / name)


@pytest.mark.parametrize("suffix", ["svg", "mmd"])
@pytest.mark.parametrize("name", [*DRAWN, *OWN])
def test_golden(
    name: str,
    suffix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_regression: FileRegressionFixture,
) -> None:
    case = case_of(name)
    copy(case.inputs, case.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    output = tmp_path / f"picture.{suffix}"
    done = podplan("graph", case.input, *case.arguments, "-o", str(output))
    assert (done.code, done.out, done.err) == (0, "", "")
    golden = PICTURES / name / output.name
    golden.parent.mkdir(exist_ok=True)
    file_regression.check(output.read_text(encoding="utf-8"), fullpath=golden, encoding="utf-8", newline="")


def test_every_golden_is_made_by_a_case() -> None:
    assert sorted(folder.name for folder in PICTURES.iterdir()) == sorted([*DRAWN, *OWN])


def test_the_picture_of_the_documentation_is_what_its_command_draws() -> None:
    text = (ROOT / "docs" / "graph.md").read_text()
    [command] = re.findall(r"^\$ podplan (graph .*) -o graph\.svg$", text, re.MULTILINE)
    assert "![" in text
    assert "](graph.svg)" in text
    done = subprocess.run(
        [sys.executable, "-m", "podplan", *command.split()],
        cwd=FIXTURES / "gallery",
        capture_output=True,
        check=True,
    )
    assert done.stdout == (ROOT / "docs" / "graph.svg").read_bytes()


def test_the_mermaid_of_the_documentation_is_what_its_command_draws() -> None:
    text = (ROOT / "docs" / "graph.md").read_text()
    [command] = re.findall(r"^\$ podplan (graph .*--format mermaid)$", text, re.MULTILINE)
    [shown] = re.findall(r"^```mermaid\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-m", "podplan", *command.split()],
        cwd=FIXTURES / "gallery",
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == shown


# What holds for every job.


def drawn(cr: Object, **options: Any) -> Picture:
    return picture(document(cr), lower(cr, **options))


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_every_case_has_its_groups_and_its_gpus(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy(case.inputs, case.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    for plan in produced(case).plans:
        assert plan.cr is not None
        made = picture(plan.cr, plan.groups, plan.variant or "")
        root = parsed(svg([made]))
        shown = texts(root)
        missing = [name for name in names(plan.groups) if name not in shown]
        assert not missing
        assert_totals(made, plan.groups)
        assert_tidy(made)
        assert_grammar(mermaid([made]))


def names(groups: tuple[Group, ...]) -> list[str]:
    """What has to be in the picture: each object by name; Pods of several templates by role and indexes."""
    found = []
    of_role = Counter(group.role for group in groups if group.doc.data["kind"] == "Pod")
    for group in groups:
        if group.doc.data["kind"] == "Pod" and of_role[group.role] > 1:
            found.append(f"{group.role} {group.indexes}")
        else:
            found.append(folded_name(group))
    return found


def assert_totals(made: Picture, groups: tuple[Group, ...] | list[Group]) -> None:
    pods = [group for group in groups if group.doc.data["kind"] == "Pod"]
    replicas = sum(group.replicas for group in pods)
    assert made.totals.split(" · ")[0] == f"{replicas:,} Pod{'' if replicas == 1 else 's'}"
    total = sum(gpus(group.doc.data) * group.replicas for group in pods)
    said_ = re.search(r"([\d,]+) GPUs?", made.totals)
    assert (int(said_[1].replace(",", "")) if said_ else 0) == total
    chips = [re.search(r"([\d,]+) GPUs?", card.chip) for card in made.cards]
    assert sum(int(chip[1].replace(",", "")) for chip in chips if chip) == total


def gpus(pod: Object) -> int:
    """The GPUs of a Pod, counted without podplan's help."""
    found = 0
    for container in pod["spec"]["containers"]:
        for resource, count in container.get("resources", {}).get("limits", {}).items():
            if resource in ("nvidia.com/gpu", "amd.com/gpu"):
                found += int(count)
    return found


def parsed(text: str) -> ET.Element:
    """An SVG as XML; it needs nothing from outside, and runs nothing."""
    root = ET.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "rect", "path", "circle", "text"}
    for element in root.iter():
        assert not [key for key in element.attrib if "href" in key or key.startswith("on")]
    assert root.attrib["role"] == "img"
    assert [child.tag.removeprefix(SVG) for child in root][:3] == ["title", "desc", "style"]
    assert "url(" not in text
    assert "@import" not in text
    return root


def texts(root: ET.Element) -> str:
    return "\n".join(filter(None, (element.text for element in root.iter() if element.tag != f"{SVG}desc")))


def assert_tidy(made: Picture) -> None:
    """Nothing lies over another, nor outside; and texts stay where they are put."""
    plate = laid_out(made, columns([made]))
    boxes = [*(at.box for at in plate.cards), *(at.box for at in plate.sides)]
    boxes += [plate.note] if plate.note is not None else []
    for i, box in enumerate(boxes):
        assert box.x >= 0
        assert box.right <= plate.width
        assert box.bottom <= plate.height
        for other in boxes[:i]:
            apart_x = box.right <= other.x or other.right <= box.x
            assert apart_x or box.bottom <= other.y or other.bottom <= box.y
    for at in plate.cards:
        if plate.gang is not None:
            assert (plate.gang.bottom > at.bottom) == at.card.gang
        for row in at.rows:
            assert at.box.y < row.y
            assert row.bottom < at.box.bottom
    assert len(plate.arrows) == len(made.calls)
    for arrow in plate.arrows:
        assert arrow.at[0] + width(arrow.label, 11, mono=True) <= plate.width


_LABEL = r'"[^"<>`{}\[\]|;#]*(?:(?:<br/>|#\d+;)[^"<>`{}\[\]|;#]*)*"'
_LINES = [
    r"flowchart LR",
    rf" *subgraph \w+\[{_LABEL}\]",
    r" *end",
    rf" *\w+\[{_LABEL}\]",
    r" *\w+ --- \w+",
    rf" *\w+ <?==>\|{_LABEL}\| \w+",
    r" *classDef \w+ [\w:#,-]+",
    r" *class \w+(,\w+)* \w+",
]


def assert_grammar(text: str) -> None:
    """Only the few forms of lines that mermaid 11 was seen to parse and to draw, hostile labels in them."""
    for line in text.splitlines():
        assert any(re.fullmatch(form, line) for form in _LINES), line
    assert text.count("subgraph ") == len(re.findall(r"^ *end$", text, re.MULTILINE))


@settings(max_examples=examples(60))
@given(st.one_of(crs(), odd_crs()))
def test_any_job_can_be_drawn(cr: Object) -> None:
    doc = document(cr)
    checked = check_cr(doc.data, DEFAULT_VERSION)
    if not checked.lowerable:
        return
    groups = lower_cr(pruned(doc, checked.problems), Options())
    made = picture(doc, groups)
    text = svg([made])
    parsed(text)
    assert_tidy(made)
    assert_grammar(mermaid([made]))
    assert_totals(made, groups)
    assert text == svg([picture(doc, groups)])


HOSTILE = [
    "</text><script>alert(1)</script>",
    "&lt;&amp;&#x0;]]>",
    "\x00\x1b[31m\x07\ud800\ufffe",
    "\u202egnp.exe\u2066",
    '"]; click A href "javascript:alert(1)"',
    "end",
    "a`b`**c**<br/>#quot;|x|",
    "訓練" * 40,
    "x" * 500,
    "%%{init: {}}%%",
    "",
]
anything = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    """Any picture whose ids are ours, and whose texts are anybody's."""
    count, beside = draw(st.integers(0, 4)), draw(st.integers(0, 5))
    rows = st.lists(st.builds(Row, anything, anything), max_size=3).map(tuple)
    fields = st.lists(st.tuples(st.sampled_from(["image", "each"]), anything), max_size=3).map(tuple)
    card = st.builds(
        Card, st.just(""), anything, anything, anything, anything, fields, rows, st.booleans(), st.booleans()
    )
    side = st.builds(
        Side,
        st.just(""),
        st.one_of(st.sampled_from(["Secret", "Headless Service"]), anything),
        anything,
        st.lists(anything, max_size=9).map(tuple),
        st.booleans(),
        st.booleans(),
    )
    cards = [draw(card)._replace(id=f"p{i}") for i in range(count)]
    sides = [draw(side)._replace(id=f"s{i}") for i in range(beside)]
    linked = st.tuples(st.integers(0, max(0, count - 1)), st.integers(0, max(0, beside - 1)))
    links = [Link(f"p{i}", f"s{j}") for i, j in sorted(draw(st.sets(linked)))] if cards and sides else []
    pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
    called = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    labels = st.lists(anything, min_size=1, max_size=3).map(tuple)
    calls = [Call(f"p{i}", f"p{j}", draw(labels), draw(st.booleans())) for i, j in sorted(called)]
    for card_ in cards:
        if len(card_.rows) > 1 and draw(st.booleans()):
            calls.append(Call(card_.id, card_.id, draw(labels), False, 1, 0))
    return Picture(
        draw(anything),
        draw(anything),
        tuple(draw(st.lists(anything, max_size=3))),
        draw(anything),
        draw(anything),
        draw(st.none() | st.builds(Gang, anything, anything)),
        tuple(cards),
        tuple(sides),
        tuple(links),
        tuple(calls),
    )


@settings(max_examples=examples(40))
@given(st.lists(pictures(), min_size=1, max_size=2))
def test_no_text_gets_out_of_its_place(made: list[Picture]) -> None:
    text = svg(made)
    parsed(text)
    for one in made:
        assert_tidy(
            one
            if one.gang is not None
            else one._replace(cards=tuple(c._replace(gang=False) for c in one.cards))
        )
    assert not set(text) & set("\x00\x1b\u202e\u2066\ud800")
    text.encode()
    assert_grammar(mermaid(made))
    assert mermaid(made).isprintable() or "\n" in mermaid(made)


def test_a_picture_is_as_large_for_ten_thousand_replicas_as_for_two() -> None:
    template = "{{spec: {{containers: [{{name: a, image: i}}]}}}}"
    spec = f"replicaSpecs: [{{{{type: worker, replicas: {{}}, template: {template}}}}}]"
    few, many = (svg([drawn(job("PyTorchTrainingJob", spec.format(n)))]) for n in (3, 10_000))
    assert 0 <= len(many) - len(few) < 100


def test_another_hash_seed_gives_the_same_bytes() -> None:
    folder = PICTURES / "three_types"
    bytes_ = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "podplan", "graph", "cr.yaml"],
            cwd=folder,
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "LC_ALL": "C", "PATH": ""},
        )
        bytes_.add(done.stdout)
    assert bytes_ == {(folder / "picture.svg").read_bytes()}


# What a picture says.

SECRETS = """
replicaSpecs:
- type: worker
  template:
    spec:
      imagePullSecrets: [{name: registry}]
      containers:
      - name: main
        image: registry.example.com/train:1
        command: [python, train.py, --password, hunter2]
        args: ["--url=https://me:hunter2@example.com/"]
        env:
        - {name: TOKEN, value: hunter2}
        - {name: KEY, valueFrom: {secretKeyRef: {name: keys, key: api}}}
        envFrom: [{secretRef: {name: all}}]
"""


def test_values_are_not_drawn() -> None:
    made = drawn(job("GenericJob", SECRETS))
    for text in (svg([made]), mermaid([made])):
        assert "hunter2" not in text
        for name in ("keys", "all", "registry", "$KEY", "pulls images", "each key as a variable"):
            assert name in text
    keyed = drawn(job("DeepSpeedJob", "worker: {template: {spec: {containers: [{name: a, image: i}]}}}"))
    for text in (svg([keyed]), mermaid([keyed])):
        assert "bert-ssh" in text
        assert "cGxhY2Vob2xkZXI" not in text
        assert "StrictHostKeyChecking" not in text


def calls(made: Picture) -> list[tuple[str, str, str, bool]]:
    titles = {card.id: card.title for card in made.cards}
    return [(titles[c.source], titles[c.target], c.label, c.both) for c in made.calls]


def test_who_reaches_whom_by_variables() -> None:
    spec = """
    replicaSpecs:
    - {type: master, template: &t {spec: {containers: [{name: pytorch, image: i, command: [./train]}]}}}
    - {type: worker, replicas: 3, template: *t}
    """
    made = drawn(job("PyTorchTrainingJob", spec))
    assert calls(made) == [("worker × 3", "master × 1", "MASTER_ADDR :23456", False)]


@pytest.mark.parametrize("per", ["replica", "job", "first"])
def test_who_reaches_whom_with_other_services(per: str) -> None:
    spec = """
    replicaSpecs:
    - {type: master, template: &t {spec: {containers: [{name: pytorch, image: i, command: [./train]}]}}}
    - {type: worker, replicas: 3, template: *t}
    """
    made = drawn(job("PyTorchTrainingJob", spec), values={"service.per": per})
    assert calls(made) == [("worker × 3", "master × 1", "MASTER_ADDR :23456", False)]
    served = {link.card for link in made.links if link.side.startswith("v")}
    assert served == ({"p0"} if per == "first" else {"p0", "p1"})


def test_the_last_port_counts() -> None:
    case = Case(FIXTURES / "pytorch_training_job" / "env_launch")
    cr = json.loads(json.dumps(document_of(case)))
    assert [call.labels for call in drawn(cr).calls] == [("MASTER_ADDR :29400",)]


def document_of(case: Case) -> Object:
    import yaml

    found: Object = yaml.safe_load((case.folder / "cr.yaml").read_text())
    return found


def test_workers_that_are_named_by_a_hostfile_are_reached_by_ssh() -> None:
    cr = document_of(Case(FIXTURES / "colossalai_job_launcher" / "palm"))
    assert calls(drawn(cr)) == [("launcher × 1", "worker × 3", "hostfile :22", False)]


def test_a_hostfile_that_no_command_names_reaches_nobody() -> None:
    spec = """
    runMode: {debug: {enabled: true}}
    worker: {replicas: 2, template: {spec: {containers: [{name: worker, image: i}]}}}
    """
    assert not drawn(job("DeepSpeedJob", spec)).calls


def test_everybody_who_names_everybody_is_told_once() -> None:
    made = drawn(document_of(case_of("three_types")))
    assert calls(made) == [
        ("chief × 1", "ps × 2", "TF_CONFIG :2222", True),
        ("chief × 1", "worker × 2", "TF_CONFIG :2222", True),
        ("ps × 2", "worker × 2", "TF_CONFIG :2222", True),
    ]
    assert [dict(card.fields).get("peers") for card in made.cards] == [None, *["TF_CONFIG :2222"] * 2]


@pytest.mark.parametrize(
    ("argument", "label"),
    [
        ("--peer=$(service.ps[1].host)", "args :80, :81"),
        ("--peer=$(service.ps[0].host):9000", "args :9000"),
        ("--peer=$(service.ps[0].host).vision.svc:81/x", "args :81"),
        ("--peer=x$(service.ps[0].host)", ""),
        ("--peer=bert-ps-7", ""),
        ("--peer=bert-ps-0x", ""),
        ("--peer=bert-ps", ""),
    ],
)
def test_hosts_in_texts(argument: str, label: str) -> None:
    spec = f"""
    service: {{ports: [{{name: a, port: 80}}, {{name: b, port: 81}}]}}
    replicaSpecs:
    - {{type: ps, replicas: 2, template: {{spec: {{containers: [{{name: a, image: i}}]}}}}}}
    - {{type: worker, template: {{spec: {{containers: [{{name: a, image: i, args: ["{argument}"]}}]}}}}}}
    """
    wanted = [("worker × 1", "ps × 2", label, False)] if label else []
    assert calls(drawn(job("GenericJob", spec))) == wanted


def test_what_all_of_a_gang_have_belongs_to_its_frame() -> None:
    made = drawn(document_of(case_of("three_types")))
    names = {side.id: side.name for side in made.sides}
    assert sorted(names[id] for id in shared(made)) == ["clicks", "feature-store", "models", "s3-ads"]
    plate = laid_out(made, columns([made]))
    assert sorted(curve.all for curve in plate.curves if curve.all) == ["left", "left", "right", "right"]


def test_a_paused_job_says_so_and_is_drawn_as_it_goes_on() -> None:
    cr = document_of(Case(FIXTURES / "generic_job" / "paused"))
    assert "Paused: no Pods until it goes on" in svg([drawn(cr)])
    resumed = drawn(cr, resumed=True)
    assert not resumed.note
    assert resumed.cards


def test_what_runs_beside_a_paused_job_stands_below_its_note() -> None:
    spec = """
    runMode: {pause: {enabled: true}}
    scheduler: {t9kScheduler: {}}
    tensorboardSpec: {image: tb, logDir: {pvc: [{name: logs}]}}
    replicaSpecs: [{type: worker, template: {spec: {containers: [{name: a, image: i}]}}}]
    """
    for values in ({}, {"podgroup.while-paused": True}):
        made = drawn(job("PyTorchTrainingJob", spec), values=values)
        assert [card.kind for card in made.cards] == ["TensorBoard"]
        assert (made.gang is None) == (not values)
        assert_tidy(made)


def test_roles_of_no_replicas_say_why_nothing_runs() -> None:
    spec = "replicaSpecs: [{type: w, replicas: 0, template: {spec: {containers: [{name: a, image: i}]}}}]"
    made = drawn(job("GenericJob", spec))
    assert "every replica type has 0 replicas" in svg([made])
    assert made.totals == "0 Pods"


def test_the_description_says_what_the_picture_shows() -> None:
    made = drawn(document_of(case_of("three_types")))
    assert said(made).startswith(
        "wide-deep: GenericJob, 5 Pods · 4 GPUs. PodGroup wide-deep: minMember 5 of 5"
    )
    assert "chief × 1 and ps × 2: TF_CONFIG :2222." in said(made)


def test_other_devices_are_counted_by_their_name() -> None:
    assert drawn(list(documents("several_jobs"))[1]).totals == "1 Pod · 2 mig-1g.10gb"


def documents(name: str) -> list[Object]:
    import yaml

    return list(yaml.safe_load_all((PICTURES / name / "cr.yaml").read_text()))


def test_a_job_of_too_many_parts_is_refused() -> None:
    role = "{{type: w{}, template: {{spec: {{containers: [{{name: a, image: i}}]}}}}}}"
    roles = ", ".join(role.format(i) for i in range(700))
    spec = f"replicaSpecs: [{roles}]\nservice: {{ports: [{{name: a, port: 1}}]}}"
    with pytest.raises(BoundExceeded, match=r"at most 2,000 are drawn"):
        drawn(job("GenericJob", spec))


# Words.


@given(anything, st.integers(10, 400))
def test_what_is_made_to_fit_fits(text: str, room: int) -> None:
    cut = fit(text, room, 12)
    assert width(cut, 12) <= room or cut == "…"
    assert cut == text or "…" in cut
    lines = wrap(text, room, 12)
    assert len(lines) <= 2
    assert all(width(line, 12) <= room or line == "…" for line in lines)


# The command.


@pytest.fixture
def several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cr.yaml").write_text((PICTURES / "several_jobs" / "cr.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("several")
def test_one_job_of_several() -> None:
    done = podplan("graph", "cr.yaml", "--job", "evaluate")
    assert done.code == 0
    assert "evaluate-judge-0" in done.out
    assert "pretrain" not in done.out


@pytest.mark.usefixtures("several")
def test_a_job_that_is_not_there() -> None:
    done = podplan("graph", "cr.yaml", "--job", "evalute")
    assert done.code == 2
    assert 'no job "evalute" here; did you mean "evaluate"?' in done.err


def test_formats(several: Path) -> None:
    assert podplan("graph", "cr.yaml").out.startswith("<svg ")
    assert podplan("graph", "cr.yaml", "--format", "mermaid").out.startswith("flowchart LR\n")
    assert podplan("graph", "cr.yaml", "-o", "a.mmd").out == ""
    assert (several / "a.mmd").read_text().startswith("flowchart LR\n")
    podplan("graph", "cr.yaml", "-o", "b.mmd", "--format", "svg")
    assert (several / "b.mmd").read_text().startswith("<svg ")


def test_nothing_is_drawn_of_what_does_not_lower(several: Path) -> None:
    (several / "bad.yaml").write_text(
        (several / "cr.yaml").read_text().replace("replicas: 5", "replicas: five")
    )
    done = podplan("graph", "bad.yaml", "-o", "bad.svg")
    assert done.code == 1
    assert "SCHEMA" in done.err
    assert not (several / "bad.svg").exists()


def test_nothing_to_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other.yaml").write_text("a: 1\n")
    monkeypatch.chdir(tmp_path)
    done = podplan("graph", "other.yaml")
    assert (done.code, done.out) == (3, "")
    assert "nothing to draw" in done.err


def test_environments_have_to_be_chosen() -> None:
    done = podplan("graph", str(FIXTURES / "gallery" / "jobs" / "resnet.yaml"))
    assert done.code == 2
    assert "say which with -e NAME" in done.err
