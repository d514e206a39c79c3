"""CRs for tests of the import, and the round trip."""

from __future__ import annotations

from pathlib import Path as File
from typing import Any

from podplan.core.provenance import TracedDocument
from podplan.kinds.compilation import compile_profile
from podplan.kinds.registry import FAMILIES, T9K
from podplan.tools.importer import ImportResult, import_cr
from podplan.yaml import Document, parse_yaml

FIXTURES = File(__file__).parent.parent / "fixtures" / "import"
GOLDEN = sorted(path.parent for path in FIXTURES.glob("*/cr.yaml"))


def document(text: str) -> Document:
    source = parse_yaml(text.encode(), "cr.yaml")
    assert not source.diagnostics
    return source.documents[0]


def imported(text: str) -> ImportResult:
    found = document(text)
    return import_cr(TracedDocument("cr.yaml", found.data, source=found))


def compiled(profile: str) -> Any:
    """Compile the text of a profile to a CR."""
    found = document(profile)
    cr, problems = compile_profile(TracedDocument("profile.yaml", found.data, source=found), None)
    assert problems == []
    assert cr is not None
    return cr.data


def cr_of(kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    family = next((one for one in FAMILIES if kind in one.packages), T9K)
    return {
        "apiVersion": family.api_version,
        "kind": kind,
        "metadata": {"name": "job", **metadata},
        "spec": spec,
    }


def pod(*containers: Any, **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": list(containers), **spec}}
