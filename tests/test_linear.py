"""What grows with the documents or entries of a file takes work in proportion to it, and not to its square.

Calls and lines are counted and not seconds, so a busy machine makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from podplan.config import Config, load_config_for
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.findings import MAX_RELATED
from podplan.core.provenance import (
    Flag,
    Origin,
    TracedDocument,
    attribute_to,
    build_traced_document,
    root_cursor,
)
from podplan.core.replica_groups import LoweringOptions
from podplan.kinds.common import merge
from podplan.kinds.common.merge import apply_patches, merge_tree, rewrap_tree
from podplan.kinds.registry import lower_cr
from podplan.lint import suppression_comments as suppressing
from podplan.lint.analysis.pod_hosts import find_pod
from podplan.lint.policy_runner import build_diagnostic
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, narrow_selection, resolve_rules
from podplan.lint.suppression_comments import find_suppression_comments
from podplan.lint.target import LoweredJob, Target, Violation
from podplan.pipeline import PipelineSettings
from podplan.tools.formatter.comments import count_comments
from podplan.tools.formatter.document_spans import find_document_spans
from podplan.tools.formatter.field_order import order_fields
from podplan.tools.importer import import_cr
from podplan.tools.importer.comments import extract_comments
from podplan.tools.migrator import migrate_source
from podplan.workspace.documents import classify_documents
from podplan.yaml import Document, comments, parse_yaml
from podplan.yaml.comments import DOCUMENT_MARKER, find_markers_around
from podplan.yaml.positions import find_line_start
from podplan.yaml.tree import parse_cst
from tests.run_invariants import checked
from tests.work_counts import work

DEEPSPEED = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: {kind}
metadata: {{name: job-{number}}}  # its name
spec:
  worker:
    replicas: 2
    # what a worker has
    slotsPerWorker: 2
    template:
      containers:
      - {{name: a, image: "b:1", commands: [a]}}
  config:
    run:
      python: [a.py]
"""
DIALECT = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {{name: job-{number}}}
spec:
  job: ColossalAIJob
  image: "a:1"
  replicas: 2
  run: {{script: a.py}}
  colossalai: {{dialect: launcher}}  # as before
"""


def documents(number: int, text: str = DEEPSPEED, kind: str = "DeepspeedJob") -> str:
    return "---\n".join(text.format(number=one, kind=kind) for one in range(number))


def entries(number: int, text: str = DEEPSPEED, kind: str = "DeepspeedJob") -> str:
    one = text.format(number=0, kind=kind).replace("\n", "\n  ").rstrip(" ")
    return "apiVersion: v1\nkind: List\nitems:\n" + f"- {one}" * number


def specs(number: int) -> str:
    entry = "  - {type: a, replicas: 1, template: {containers: [{name: a, image: b}]}}\n"
    head = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\nmetadata: {name: a}\nspec:\n"
    return f"{head}  replicaSpecs:\n{entry * number}"


def roles(number: int) -> LoweredJob:
    """A job of so many roles."""
    one = (
        "  - {{type: r{}, replicas: 2, template: {{spec: {{containers: [{{name: pytorch, image: b}}]}}}}}}\n"
    )
    document = parse_yaml((specs(0) + "".join(map(one.format, range(number)))).encode(), "").documents[0]
    cr = TracedDocument("", document.data, source=document)
    return LoweredJob(cr, tuple(lower_cr(cr, {}, LoweringOptions())))


def imported(text: str) -> None:
    for item in classify_documents(parse_yaml(text.encode(), "")):
        assert import_cr(item.doc).text


def placed(text: str) -> None:
    for document in parse_yaml(text.encode(), "").documents:
        assert len(extract_comments(document)) == 2


def moved(text: str) -> None:
    source = parse_yaml(text.encode(), "")
    found = migrate_source(source)
    assert found.done_steps
    assert not found.refused_steps
    assert migrate_source(parse_yaml(found.text.encode(), "")).done_steps == ()


@pytest.mark.parametrize(
    ("function", "written"),
    [
        (placed, documents),
        (imported, lambda number: entries(number, kind="DeepSpeedJob")),
        pytest.param(moved, documents, marks=pytest.mark.long),
        pytest.param(moved, entries, marks=pytest.mark.long),
        (moved, specs),
        (moved, lambda number: documents(number, DIALECT)),
        (lambda text: find_document_spans(text), documents),
        (
            lambda text: find_suppression_comments(parse_yaml(text.encode(), "")),
            lambda number: "# podplan: ignore\n" * number,
        ),
    ],
    ids=["placed", "import", "migrate", "list", "specs", "dialect", "extents", "comments"],
)
def test_twice_as_much_takes_twice_the_work(
    function: Callable[[str], object], written: Callable[[int], str]
) -> None:
    function(written(2))  # what is made once, such as regular expressions
    few, many = (work(partial(function, written(number))) for number in (8, 32))
    assert many < 4.02 * few


def test_a_host_is_looked_up_and_not_searched_for_among_all_of_a_job() -> None:
    def looked_up(job: LoweredJob) -> None:
        for each in job.pods:
            find_pod(job, f"a-{each.replica_type}-1")

    few, many = (work(partial(looked_up, roles(number))) for number in (15, 60))
    assert many < 4.4 * few


def test_a_finding_points_at_so_many_places_and_no_more() -> None:
    job, policy = roles(2), next(iter(load_builtin_policies()))
    doc = job.groups[0].doc
    seen = build_diagnostic(policy, Target(doc, job), Violation((), {}, [(doc, (), "there")] * 1_000))
    assert len(seen.related_places) == MAX_RELATED


def test_what_is_above_a_document_is_not_searched_for_each_comment_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand comments above 100,000 values took 40 seconds, and so above as many other comments."""

    def covered(comments: int) -> int:
        above = "# podplan: ignore[NET001] -- as agreed\n" * comments
        source = parse_yaml(("a: 1\n---\n" + above + "b:\n" + "- c\n" * 400).encode(), "")
        monkeypatch.setattr(marker, "searched", 0)
        assert {
            (one.covered_range.document, one.covered_range.path) for one in find_suppression_comments(source)
        } == {(1, ())}
        assert marker.searched <= len(source.text)
        return work(partial(find_suppression_comments, source))

    marker = Marker()
    monkeypatch.setattr(suppressing, "DOCUMENT_MARKER", marker)
    covered(1)
    assert covered(101) - covered(1) < 100 * 200


def test_a_file_without_comments_is_not_searched_for_what_they_are_about() -> None:
    """80,000 variables took 24 seconds to import, of which 20 went into places for no comment."""

    def placed_none() -> None:
        assert extract_comments(document) == []

    source = parse_yaml(entries(60, DEEPSPEED.partition("  # its")[0] + "\n").encode(), "")
    (document,) = source.documents
    assert work(placed_none) < 1_000
    assert work(lambda: count_comments(source)) < 50


@pytest.mark.parametrize(
    "function", [comments.find_nodes, lambda document: list(comments.iter_comments("", [document]))]
)
def test_each_part_of_a_document_is_found_from_what_holds_it_however_deep(
    function: Callable[[Document], object],
) -> None:
    """A CR of a megabyte with one comment took three ways from the top for each part of it."""

    def looked(depth: int) -> int:
        text = "{a: " * depth + "[" + "b, " * 300 + "]" + "}" * depth
        (document,) = parse_yaml(text.encode(), "").documents
        return work(partial(function, document))

    looked(1)
    assert looked(51) < looked(1) + 50 * 150  # that is half of the 300 entries for each level


class Name(str):
    """A name that counts how often it is compared with another one."""

    compared = 0

    def __str__(self) -> str:
        return self

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_entries_are_looked_up_by_their_keys_where_lists_are_merged() -> None:
    def volumes(letter: str) -> TracedDocument:
        listed = [{"name": Name(f"{letter}{number}")} for number in range(500)]
        return TracedDocument("", {"volumes": listed}, origins={(): Origin("because", flag=Flag("test"))})

    tree = merge_tree(root_cursor(volumes("a")), root_cursor(volumes("b")))
    assert len(build_traced_document(attribute_to(Flag("test"), tree), "").data["volumes"]) == 1_000
    assert Name.compared < 10_000


def test_thousands_of_overrides_do_not_copy_the_spec_thousands_of_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """60,000 in a profile of 2 MB took more than two minutes."""

    def copied(number: int) -> int:
        made.clear()
        written = [{"spec": {"a": {f"b{one}": one}, f"c{one}": one}} for one in range(number)]
        doc = TracedDocument("", {"override": written})
        tree = apply_patches(
            root_cursor(TracedDocument("", {"a": {}})),
            (one.get("spec") for one in root_cursor(doc)["override"].entries()),
        )
        spec = build_traced_document(tree, "").data
        assert (len(spec), len(spec["a"])) == (number + 1, number)
        return sum(made)

    def counted(base: Any, built: dict[str, Any]) -> Any:
        made.append(len(built))
        return rewrap_tree(base, built)

    made: list[int] = []  # how many entries each map has that is made
    monkeypatch.setattr(merge, "rewrap_tree", counted)
    assert copied(100) < 4.2 * copied(25)


def test_overrides_are_laid_over_the_spec_in_their_order() -> None:
    specs: list[Any] = [{"a": {"b": 1}, "c": 1}, {"a": None, "d": {"e": 1}}, {"d": 2}, {"d": {"f": None}}]
    specs += [{"a": {"g": [1]}, "c": 3}, {"d": {"h": 4}, "a": {"g": [2]}}]
    patches = [root_cursor(TracedDocument(f"patch {number}", spec)) for number, spec in enumerate(specs)]
    made = build_traced_document(
        apply_patches(root_cursor(TracedDocument("", {"a": {"b": 0, "z": 0}})), patches), ""
    )
    assert list(made.data.items()) == [("c", 3), ("d", {"h": 4}), ("a", {"g": [2]})]
    origin = made.origins["a", "g"]
    assert [place.doc.name for place in (*origin.sources, *origin.overridden)] == ["patch 5", "patch 4"]


def test_what_has_no_fields_is_not_asked_for_their_order() -> None:
    def ordering(number: int) -> int:
        names = "".join(f"    A{one}: b\n" for one in range(number))
        text = f"apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {{name: a}}\nspec:\n  env:\n{names}"
        (tree,) = parse_cst(text)
        return work(partial(order_fields, tree, "JobProfile"))

    ordering(1)
    assert ordering(200) - ordering(100) < 100 * 60


class Watched(str):
    """A text that notes how many characters are searched."""

    searched = 0

    def rfind(self, sub: Any, start: Any = 0, end: Any = None) -> int:
        self.searched += end - start
        return str.rfind(self, sub, start, end)


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n"])
def test_the_start_of_a_line_is_looked_for_in_that_line(line_break: str) -> None:
    text = Watched(f"some line{line_break}" * 100_000)
    assert find_line_start(text, len(text) - 1 - len(line_break)) == len(text) - len(f"some line{line_break}")
    assert text.searched < 1_000
    assert find_line_start(Watched("a" * 5_000), 4_000) == 0
    assert find_line_start("a\nb\r" + "c" * 5_000, 4_000) == 4


class Marker:
    """The pattern of markers, which notes how many characters are searched."""

    searched = 0

    def match(self, text: str, start: int, end: int) -> re.Match[str] | None:
        return DOCUMENT_MARKER.match(text, start, end)

    def search(self, text: str, start: int, end: int | None = None) -> re.Match[str] | None:
        end = len(text) if end is None else end
        found = DOCUMENT_MARKER.search(text, start, end)
        self.searched += (found.start() if found else end) - start
        return found

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.searched += len(text)
        return DOCUMENT_MARKER.finditer(text)


def test_markers_are_looked_for_next_to_their_document(monkeypatch: pytest.MonkeyPatch) -> None:
    marker = Marker()
    monkeypatch.setattr(comments, "DOCUMENT_MARKER", marker)
    text = Watched("---\na: b\n" * 10_000)
    start = len(text) // 2 + 4
    assert find_markers_around(text, start, start + 4) == (start - 1, start + 5)
    assert text.searched + marker.searched < 2_000


def test_markers_around_a_document() -> None:
    text = "a: 1\n---\n# one\n\nb: 2\n# two\n...\n---\nc: 3\n"
    start = text.index("b")
    assert find_markers_around(text, start, start + 4) == (text.index("---") + 3, text.index("..."))
    assert find_markers_around(text, 0, 4) == (-1, text.index("---"))
    assert find_markers_around(text, text.index("c"), len(text)) == (text.rindex("---") + 3, len(text))
    assert find_markers_around("--- a\n", 4, 5) == (3, 6)


def test_a_rule_that_is_named_a_thousand_times_counts_once(tmp_path: Path) -> None:
    codes = ", ".join(['"NET001", "SEC"'] * 5_000)
    section = f'[[paths]]\nmatch = ["**"]\nignore = [{codes}]\n'
    (tmp_path / "podplan.toml").write_text(f"ignore = [{codes}]\n{section}")
    with chdir(tmp_path):
        found: Config = load_config_for(".")
    assert found.ignore == found.paths[0].ignore == ("NET001", "SEC")


def test_thousands_of_sections_that_hold_for_one_path() -> None:
    """A podplan.toml has room for them; each is a selection within the one before."""
    selection = RuleSelection()
    for number in range(3_000):
        selection = narrow_selection(selection, {"ignore": ("SCHEMA",)} if not number else {})
    assert not selection.replaces_preset
    found = resolve_rules((), selection)
    assert found.changed_severities.get("SCHEMA001", ...) is None
    assert "SCHEMA001" in BUILTIN_RULES


@pytest.mark.parametrize(
    ("api", "kind", "spec"),
    [
        pytest.param(
            "batch.tensorstack.dev/v1beta1",
            "TensorFlowTrainingJob",
            "replicaSpecs: [{type: worker, replicas: NUMBER, template: TEMPLATE}]",
            marks=pytest.mark.long,
        ),
        ("kubeflow.org/v1", "TFJob", "tfReplicaSpecs: {Worker: {replicas: NUMBER, template: TEMPLATE}}"),
        pytest.param(
            "kubeflow.org/v1",
            "PyTorchJob",
            "pytorchReplicaSpecs: {Worker: {replicas: NUMBER, template: TEMPLATE}}",
            marks=pytest.mark.long,
        ),
    ],
)
def test_ten_thousand_replicas_take_the_work_of_a_hundred(api: str, kind: str, spec: str) -> None:
    """The variable TF_CONFIG lists all replicas, and was written out for each program of a Pod."""
    names = ("tensorflow", "pytorch")
    containers = ", ".join(f"{{name: {name}, image: b, command: [python, t.py]}}" for name in names)
    spec = spec.replace("TEMPLATE", f"{{spec: {{containers: [{containers}]}}}}")
    policies = PipelineSettings(policies=tuple(load_builtin_policies()))

    def check(number: int) -> None:
        text = f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{spec}}}\n"
        checked({"job.yaml": text.replace("NUMBER", str(number))}, policies)

    check(100)
    few, many = (work(partial(check, number)) for number in (100, 10_000))
    assert many < 1.1 * few
