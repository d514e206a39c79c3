"""Comments of a CR in the profile that it is imported as."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.tokens import CommentToken

from podplan.core.provenance import TracedDocument, build_traced_document, copy_traced, root_cursor
from podplan.core.structural_diff import is_same_data
from podplan.tools.importer import import_cr, strip_server_fields
from podplan.tools.importer.comments import extract_comments
from podplan.yaml import parse_yaml
from tests.imported_profiles import FIXTURES, GOLDEN, compiled, document, imported


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.name)
def test_no_comment_is_lost_wherever_it_stands(case: File) -> None:
    marked, comments = commented((case / "cr.yaml").read_text())
    profile = imported(marked).text
    assert is_same_data(compiled(profile), strip_server_fields(document(marked).data))
    assert [comment for comment in comments if profile.count(comment) != 1] == []


def test_the_header_of_a_rendered_file_is_left_out() -> None:
    text = (FIXTURES / "mpi-job" / "cr.yaml").read_text()
    rendered = f"---\n# podplan: rendered from jobs/allreduce.yaml -e prod\n# Measures the fabric.\n{text}"
    assert imported(rendered).text == "# Measures the fabric.\n" + imported(text).text


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
        assert is_same_data(data, document(profile).data)
        assert sorted(comments) == sorted(read_again(text)[1])


def test_comments_go_with_what_was_repaired() -> None:
    text = (
        "apiVersion: batch.tensorstack.dev/v1beta1\nkind: DeepSpeedJob\nmetadata: {name: a}\nspec:\n"
        "  config:\n    slotPerWorker: 2  # of 8\n    run:\n      python: a.py -v  # the program\n"
    )
    profile = imported(text).text
    assert "\n  run: [a.py, -v]  # the program\n  processes: 2  # of 8\n" in profile


def test_an_entry_of_a_list_keeps_its_own_comments() -> None:
    text = (
        "# of the list\napiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: batch.tensorstack.dev/v1beta1\n  kind: GenericJob\n  metadata: {name: a}\n"
        "  spec: {replicaSpecs: [{type: worker, replicas: 1}]}  # of a\n"
        "- apiVersion: batch.tensorstack.dev/v1beta1\n  kind: GenericJob\n  metadata: {name: b}\n"
        "  spec:\n    cleanUpPolicy: All  # of b\n    replicaSpecs: [{type: worker}]\n"
    )
    found = document(text)
    doc = TracedDocument("cr.yaml", found.data, source=found)
    entry = build_traced_document(copy_traced(root_cursor(doc)["items"][1]), "b")
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
    assert is_same_data(compiled(profile), document(text).data)


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
    documents = parse_yaml(text.encode(), "f").documents
    assert [c.text for c in extract_comments(documents[0])] == ["# first", "# end of first"]
    assert [c.text for c in extract_comments(documents[1])] == ["# second", "# end"]


def test_a_hash_inside_a_scalar_is_no_comment() -> None:
    text = "a: 'x # no'  # also\nb: \"y # no\"\nc: x#no\nd: |\n  # no\n  z # no\ne: p  # yes\n"
    assert [(c.text, c.position, c.path) for c in extract_comments(document(text))] == [
        ("# also", "beside", ("a",)),
        ("# yes", "beside", ("e",)),
    ]


def test_a_comment_behind_a_bare_dash_is_about_its_entry() -> None:
    text = "a: 1\nb:\n-  # first\n  c: 1\n- # second\n  d\n- - e  # inner\n"
    assert [(c.text, c.position, c.path) for c in extract_comments(document(text))] == [
        ("# first", "beside", ("b", 0)),
        ("# second", "beside", ("b", 1)),
        ("# inner", "beside", ("b", 2, 0)),
    ]


def test_a_comment_belongs_to_what_fmt_takes_it_for() -> None:
    """An entry that is commented out stays in its list, a second line beside a value with the value."""
    text = "a:\n- x\n# - y\nb: 1\n      # more of b\nc: {d: 1, # of d\n  e: 2}\n"
    assert [(c.text, c.position, c.path) for c in extract_comments(document(text))] == [
        ("# - y", "below", ("a", 0)),
        ("# more of b", "below", ("b",)),
        ("# of d", "beside", ("c", "d")),
    ]
