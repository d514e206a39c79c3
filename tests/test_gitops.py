"""What a rendered CR is given for the GitOps tool that applies it: on request, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podplan.core.provenance import TracedDocument, trace_to_source
from podplan.kinds.compilation import compile_profile
from tests.command import ENVIRONMENTS, PROFILE, podplan
from tests.lowered_invariants import check_origins
from tests.profile_texts import one

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
PRUNE = "kustomize.toolkit.fluxcd.io/prune"
SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"


def compiled(tool: str, written: str = "") -> TracedDocument:
    """The CR for a tool of a profile whose annotations are those ``written``, in flow style."""
    text = PROFILE.replace(
        "{name: resnet}", f"{{name: resnet, annotations: {written}}}" if written else "{name: resnet}"
    )
    cr = compile_profile(one(text), None, tool).cr
    assert cr is not None
    check_origins([cr])
    return cr


def noted(tool: str, written: str = "") -> Any:
    return compiled(tool, written).data["metadata"].get("annotations")


def test_nothing_is_added_unless_asked() -> None:
    assert noted("none") is None
    assert noted("none", "{team: vision}") == {"team": "vision"}


def test_a_job_is_not_pruned_while_it_runs() -> None:
    assert noted("argocd") == {SYNC_OPTIONS: "Prune=confirm"}
    assert noted("flux") == {PRUNE: "disabled", SUBSTITUTE: "disabled"}


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("{team: vision}", {"team": "vision", SYNC_OPTIONS: "Prune=confirm"}),
        ("{team: null}", {SYNC_OPTIONS: "Prune=confirm"}),
        (f"{{{SYNC_OPTIONS}: Prune=false}}", {SYNC_OPTIONS: "Prune=false"}),
        (f"{{{SYNC_OPTIONS}: 'Replace=true, Prune=true'}}", {SYNC_OPTIONS: "Replace=true, Prune=true"}),
        (f"{{{SYNC_OPTIONS}: 'Replace=true, '}}", {SYNC_OPTIONS: "Replace=true,Prune=confirm"}),
        (f"{{{SYNC_OPTIONS}: PruneLast=true}}", {SYNC_OPTIONS: "PruneLast=true,Prune=confirm"}),
        (f"{{{SYNC_OPTIONS}: ''}}", {SYNC_OPTIONS: "Prune=confirm"}),
    ],
)
def test_what_a_person_wrote_stays(written: str, becomes: dict[str, str]) -> None:
    assert noted("argocd", written) == becomes


def test_what_a_person_wrote_for_flux_stays() -> None:
    assert noted("flux", f"{{{SUBSTITUTE}: enabled}}") == {SUBSTITUTE: "enabled", PRUNE: "disabled"}
    assert noted("flux", f"{{{PRUNE}: 7}}")[PRUNE] == 7, "what is no text is for the schema to say"


def test_it_goes_back_to_the_flag_the_fact_and_the_metadata() -> None:
    step = trace_to_source(compiled("argocd"), ("metadata", "annotations", SYNC_OPTIONS))[0]
    assert step.origin is not None
    assert step.origin.behavior is not None
    assert step.origin.flag is not None
    assert (step.origin.behavior.id, step.origin.flag.name) == ("gitops.argocd-prune", "--gitops argocd")
    assert trace_to_source(compiled("argocd"), ("metadata", "annotations", SYNC_OPTIONS))[-1].path == (
        "metadata",
    )
    grown = trace_to_source(
        compiled("argocd", f"{{{SYNC_OPTIONS}: Replace=true}}"), ("metadata", "annotations", SYNC_OPTIONS)
    )
    assert grown[-1].path == ("metadata", "annotations", SYNC_OPTIONS)


def test_why_explains_it(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(PROFILE)
    field = f'metadata.annotations["{PRUNE}"]'
    run = podplan("why", "job.yaml", field, "--gitops", "flux", cwd=tmp_path)
    assert run.code == 0, run.err
    assert "[documented] Flux does not delete a resource with prune: disabled" in run.out
    assert "given by --gitops flux" in run.out


def test_the_configuration_says_it_and_the_flag_wins(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(PROFILE)
    (tmp_path / "podplan.toml").write_text('[gitops]\ntool = "flux"\n')
    assert PRUNE in podplan("render", "job.yaml", cwd=tmp_path).out
    by_flag = podplan("render", "job.yaml", "--gitops", "argocd", cwd=tmp_path).out
    assert SYNC_OPTIONS in by_flag
    assert PRUNE not in by_flag
    shown = podplan("check", "job.yaml", "--show-settings", cwd=tmp_path).out
    assert 'gitops = {tool = "flux"}' in shown
    assert "# podplan.toml:1\n" in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[gitops]\ntool = "helm"\n', "podplan.toml:2: "),
        ("[gitops]\nprune = true\n", 'unknown field "prune"'),
    ],
)
def test_a_wrong_configuration_is_exit_2(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "job.yaml").write_text(PROFILE)
    (tmp_path / "podplan.toml").write_text(text)
    run = podplan("render", "job.yaml", cwd=tmp_path)
    assert run.code == 2
    assert said in run.err


def test_rendered_files_are_compared_as_they_were_rendered(tmp_path: Path) -> None:
    """Whatever the tool is that the configuration names now, or does not name."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(ENVIRONMENTS)
    assert podplan("render", "job.yaml", "-e", "dev", "-o", "out", "--gitops", "flux", cwd=tmp_path).code == 0
    rendered = tmp_path / "out" / "pytorchtrainingjob-resnet.yaml"
    assert rendered.read_text().startswith("# podplan: rendered from job.yaml -e dev --gitops flux\n")
    assert podplan("check", ".", cwd=tmp_path).code == 0
    (tmp_path / "podplan.toml").write_text('[gitops]\ntool = "argocd"\n')
    assert podplan("check", ".", cwd=tmp_path).code == 0
    rendered.write_text(rendered.read_text().replace(f"    {PRUNE}: disabled\n", ""))
    run = podplan("check", "out", "--format", "json", cwd=tmp_path)
    assert run.code == 1
    assert [found["rule"] for found in json.loads(run.out)["findings"]] == ["GIT001"]


def test_a_tool_that_a_header_makes_up_is_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "job.yaml").write_text(PROFILE)
    text = podplan("render", "job.yaml", cwd=tmp_path).out
    (tmp_path / "cr.yaml").write_text(text.replace("from job.yaml", "from job.yaml --gitops helm"))
    assert podplan("check", ".", cwd=tmp_path).code == 0
