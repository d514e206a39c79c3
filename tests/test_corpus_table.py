"""The page of real manifests: what podplan fills in, what people wrote, and when the program complains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import corpus, corpus_verdicts
from tests.corpus import Manifest, Seen

GOOD = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: hello, uid: 1f0c5a52-7a52-4a6e-9b2e-0d3b7cf3a001}
spec:
  replicaSpecs:
    - type: worker
      replicas: 2
      template: {spec: {containers: [{name: hello, image: busybox, command: [echo, "1"]}]}}
status: {phase: Running}
"""
BAD = GOOD.replace("command:", "comand:")
PAGE = """\
# Jobs

<!-- summary -->
<!-- end -->

| manifest | lowered to | imported | findings | on the cluster |
|---|---|---|---|---|
| [GenericJob/001]() | | | | Runs: two Pods say hello. |

<!-- verdicts -->
<!-- end -->

| rule | manifests | verdict | why |
|---|---|---|---|
| GEN005 | GenericJob/001 | true | Nothing ends it. |
| IMG002 | all | true | Two nodes, two images. |

<!-- others -->
old
<!-- end -->
The end.
"""


def manifest(number: str = "001", kind: str = "GenericJob") -> Manifest:
    return Manifest(f"{kind}/{number}-hello.yaml", "t9k/examples", "a/hello.yaml", kind, "-")


def folder(tmp_path: Path, text: str, kind: str = "GenericJob") -> Path:
    (tmp_path / kind).mkdir()
    (tmp_path / kind / "001-hello.yaml").write_text(text)
    lines = ("\t".join(fields) for fields in (Manifest._fields, manifest(kind=kind)))
    (tmp_path / "INDEX.tsv").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def look(tmp_path: Path, text: str, kind: str = "GenericJob") -> Seen:
    found = folder(tmp_path, text, kind)
    [listed] = corpus.index(found)
    return corpus.look(found, listed)


def test_what_the_api_server_would_drop_is_repaired_and_what_it_refuses_is_not(tmp_path: Path) -> None:
    for name in ("old", "slip", "wrong"):
        (tmp_path / name).mkdir()
    assert look(tmp_path / "old", GOOD.replace("command:", "commands:")).imported == "repaired"
    assert look(tmp_path / "slip", BAD).imported == "repaired"
    assert look(tmp_path / "wrong", GOOD.replace("image:", "imag:")).imported == "refused"


def test_a_good_manifest_lowers_and_comes_through_import_exactly(tmp_path: Path) -> None:
    seen = look(tmp_path, GOOD)
    assert dict(seen.objects) == {"Pod": 2}
    assert (seen.imported, seen.faults, seen.refused) == ("exact", (), False)


def test_a_refused_manifest_has_its_findings_by_line(tmp_path: Path) -> None:
    seen = look(tmp_path, BAD)
    assert seen.refused
    assert "SCHEMA001:8" in corpus.places(seen.findings)
    assert corpus.cells(seen)[1] == "2 Pods, refused"


def test_what_policies_say_refuses_nothing(tmp_path: Path) -> None:
    seen = look(tmp_path, GOOD.replace("[echo,", "['$(service.worker[0].host)',"))
    assert [found["rule"] for found in seen.findings if found["severity"] == "error"] == ["GEN002"]
    assert not seen.refused


def test_of_a_kind_without_rows_the_errors_and_warnings_count(tmp_path: Path) -> None:
    seen = look(tmp_path, GOOD.replace("GenericJob", "BeamJob"), "BeamJob")
    assert (dict(seen.objects), seen.imported, seen.faults) == ({}, "", ())
    assert list(corpus.others([seen]))[2:] == ["| BeamJob | 1 | no | SCHEMA003, SCHEMA001 |"]


def test_what_stops_podplan_is_a_fault(tmp_path: Path) -> None:
    seen = corpus.look(folder(tmp_path, GOOD), manifest("002"))
    assert "002-hello.yaml" in seen.faults[0]


def test_an_override_is_named_and_a_change_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert corpus.first_difference({"replicas": 1}, {"replicas": "1"})
    assert not corpus.first_difference({"a": 1, "b": 2}, {"b": 2, "a": 1})
    monkeypatch.setattr(corpus, "as_applied", lambda cr: {**cr, "kind": "GenericJob", "extra": True})
    assert look(tmp_path, GOOD).faults[0].startswith("import and render change it: ")


def test_a_row_keeps_its_sentence_and_gets_the_rest() -> None:
    seen = Seen(
        manifest(), {"Service": 1, "Pod": 2}, ({"rule": "CR001", "line": 3, "severity": "warning"},) * 2
    )
    page = corpus.rewritten(PAGE, [seen._replace(imported="exact")])
    assert (
        "| [GenericJob/001](https://github.com/t9k/examples/blob/2ee1f56/a/hello.yaml) | 2 Pods, 1 Service"
        " | exact | CR001:3 ×2 | Runs: two Pods say hello. |\n"
    ) in page
    assert "| all | 1 | 1 | 0 | 1 | 0 |\n<!-- end -->" in page
    assert "old" not in page
    assert page.endswith("<!-- end -->\nThe end.\n")
    assert corpus.rewritten(page, [seen._replace(imported="exact")]) == page


def test_the_page_needs_a_row_and_a_sentence_for_each_manifest() -> None:
    seen = [Seen(manifest()), Seen(manifest("002")), Seen(manifest(kind="MPIJob"))]
    page = "| [GenericJob/001]() | | | | |\n| [GenericJob/009]() | | | | Runs. |\n"
    assert list(corpus.faults(page, seen)) == [
        "corpus.md has no row for GenericJob/002",
        "corpus.md has a row for GenericJob/009, and no manifest",
        "corpus.md says nothing about GenericJob/001",
    ]


def test_the_program_writes_the_page_when_asked_and_complains_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "corpus.md"
    page.write_text(PAGE)
    monkeypatch.setattr(corpus, "PAGE", page)
    found = str(folder(tmp_path, GOOD))
    assert corpus.main([found]) == 1
    assert "+| [GenericJob/001](https://github.com/" in capsys.readouterr().out
    assert corpus.main([found, "--write"]) == 0
    assert corpus.main([found]) == 0
    assert corpus.main([str(tmp_path / "nowhere")]) == 3
    assert "nothing to check" in capsys.readouterr().err


def finding(rule: str, severity: str = "warning") -> dict[str, str]:
    return {"rule": rule, "severity": severity}


def verdict(rule: str, manifests: str, verdict: str = "true", why: str = "So it is.") -> str:
    return f"| {rule} | {manifests} | {verdict} | {why} |\n"


FOUND = {
    "GenericJob/001": [finding("CR001"), finding("CR001")],
    "GenericJob/003": [finding("CR001")],
    "DeepSpeedJob/002": [finding("CR001"), finding("SEC003", "error")],
    "MPIJob/001": [finding("CR900")],
}
JUDGED = (
    verdict("CR001", "GenericJob/001–003; DeepSpeedJob/002")
    + verdict("SEC003", "all")
    + verdict("CR900", "all", "–")
)


def test_verdicts_count_findings_and_leave_out_what_tells_of_podplan() -> None:
    assert list(corpus_verdicts.faults(JUDGED, FOUND)) == []
    assert list(corpus_verdicts.table(JUDGED, FOUND))[2:] == [
        "| error | 1 | 1 | 0 | 0 | 0.0 % |",
        "| warning | 5 | 4 | 0 | 1 | 0.0 % |",
        "| info | 0 | 0 | 0 | 0 | 0.0 % |",
    ]


def test_a_finding_without_a_verdict_is_false_and_a_fault() -> None:
    page = JUDGED.replace("001–003; ", "001; ")
    assert list(corpus_verdicts.faults(page, FOUND)) == [
        "no verdict on CR001 for GenericJob/003",
        "1 false findings at warning: 25.0 %",
    ]


def test_a_row_without_a_sentence_counts_as_false() -> None:
    page = JUDGED.replace(verdict("SEC003", "all"), verdict("SEC003", "all", why=""))
    assert list(corpus_verdicts.faults(page, FOUND)) == ["1 false findings at error: 100.0 %"]


def test_a_verdict_needs_a_finding_and_stands_once() -> None:
    page = JUDGED + verdict("CR001", "GenericJob/003") + verdict("CR002", "MPIJob/001, 009")
    page += verdict("CR003", "all")
    assert list(corpus_verdicts.faults(page, FOUND)) == [
        "a verdict on CR002 for MPIJob/001, and no finding",
        "2 verdicts on CR001 for GenericJob/003",
        "a verdict on CR003 names no manifest",
    ]


@pytest.mark.parametrize(("warnings", "told"), [(20, True), (21, False)])
def test_warnings_stay_under_five_percent_false(warnings: int, told: bool) -> None:
    found = {f"GenericJob/{number:03}": [finding("CR001")] for number in range(warnings)}
    page = verdict("CR001", "GenericJob/000", "false") + verdict("CR001", f"GenericJob/001–{warnings:03}")
    assert any("false findings at warning" in fault for fault in corpus_verdicts.faults(page, found)) is told
