"""Runs the examples of policies through the whole pipeline, as if they were files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from errno import ENOENT

from podplan import kubernetes
from podplan.checker.base_revision import BaseCrs, collect_base_crs
from podplan.checker.check import check_sources
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Diagnostic, Finding, Severity, to_json_pointer
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.lint.example_objects import PatchError, apply_patch
from podplan.lint.policy import Policy
from podplan.pipeline import PipelineSettings
from podplan.tools.repository_tests import CoveredItem, FailedTest, SuiteOutcome
from podplan.workspace.documents import classify_documents
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile, parse_yaml
from podplan.yaml.writer import emit_documents


def run_examples(policies: Iterable[Policy], faults: Iterable[Diagnostic], version: str) -> SuiteOutcome:
    """Run the examples of the policies of a repository, for a Kubernetes ``version``.

    ``faults`` are diagnostics of policies that could not be loaded; each is a failure.
    """
    failures = [_build_failure(one.doc, one, one.rule) for one in faults if one.doc is not None]
    covered_items: list[CoveredItem] = []
    test_count = len(failures)
    for parts in _group_by_code(policies):
        rule, doc = parts[0].rule, parts[0].tests_doc
        examples = [] if doc is None else [(doc, one) for one in doc.data.get("examples", ())]
        verdicts = tuple(example["verdict"] for _, example in examples)
        covered_items.append(
            CoveredItem("policy", rule.code, parts[0].file, verdicts, {"bad", "good"} <= set(verdicts))
        )
        for index, (tests_doc, example) in enumerate(examples):
            test_count += 1
            failures += _find_failures(parts, tests_doc, index, example, version)
    return SuiteOutcome(test_count, tuple(covered_items), tuple(failures))


def _group_by_code(policies: Iterable[Policy]) -> list[list[Policy]]:
    """Group policies by code: an admission policy becomes one for each severity and params object."""
    parts: dict[str, list[Policy]] = {}
    for policy in policies:
        parts.setdefault(policy.rule.code, []).append(policy)
    return list(parts.values())


def find_violations(
    example: Mapping[str, Any], policies: Sequence[Policy], version: str = kubernetes.DEFAULT_VERSION
) -> list[Finding]:
    """Return the findings of an example with these policies. Raises UsageError and LimitExceeded."""
    objects = example.get("objects") or [example["object"]]
    source = parse_yaml(emit_documents(objects).encode(), "example.yaml")
    inventory_doc = build_inventory(example["inventory"]) if "inventory" in example else None
    reader = ExampleReader(inventory_doc, example.get("files", {}), example.get("cluster", ()))
    reader.add_stream(source)
    version = example.get("kubernetes", version)
    if version not in kubernetes.supported_versions():
        raise UsageError(f"kubernetes: there are no schemas of Kubernetes {version}")
    settings = PipelineSettings(
        kubernetes_version=version, policies=tuple(policies), gitops_tool=example.get("gitops", "none")
    )
    base_crs = _load_base_crs(objects, example["before"], settings, reader) if "before" in example else None
    result = check_sources([source], settings, reader, base_crs=base_crs)
    if result.limit_hits:
        raise LimitExceeded("; ".join(one.message for one in result.limit_hits))
    return result.findings


def _load_base_crs(objects: Any, patch: Any, settings: PipelineSettings, reader: Loader) -> BaseCrs:
    """Return the CRs of the objects of an example in the base revision; a patch applies to a single
    object."""
    base_objects = [apply_patch(objects[0], patch)] if len(objects) == 1 else apply_patch(objects, patch)
    return collect_base_crs(
        [parse_yaml(emit_documents(base_objects).encode(), "before.yaml")], settings, reader
    )


class ExampleReader(Loader):
    """Loads the files of an example instead of those on disk; ``cluster`` are the objects of the cluster."""

    def __init__(
        self, inventory_doc: TracedDocument | None, files: Mapping[str, Any], cluster: Sequence[Any] = ()
    ) -> None:
        super().__init__(inventory_doc)
        self.inventory_doc = inventory_doc
        self.files = files
        self._cluster = cluster

    def find_inventory(self, _doc: TracedDocument, _named: str = "") -> TracedDocument | None:
        return self.inventory_doc

    def find_cluster_documents(self, _file: str, _paths: tuple[str, ...] = ()) -> list[TracedDocument]:
        if not self._cluster:
            return []
        source = parse_yaml(emit_documents(self._cluster).encode(), "cluster.yaml")
        return [item.doc for item in classify_documents(source)]

    def find_operator_options(self, _file: str, _paths: tuple[str, ...] = ()) -> None:
        return None  # what the repository deploys does not concern an example

    def load_source(self, _root: str, path: str) -> SourceFile:
        if path not in self.files:
            raise FileNotFoundError(ENOENT, "it is not among the files of the example", path)
        return parse_yaml(emit_documents([self.files[path]]).encode(), path)


def build_inventory(spec: Mapping[str, Any]) -> TracedDocument:
    """Build the ClusterInventory with this spec."""
    data = {
        "apiVersion": "podplan/v1",
        "kind": "ClusterInventory",
        "metadata": {"name": "test"},
        "spec": spec,
    }
    document = parse_yaml(emit_documents([data]).encode(), "inventory.yaml").documents[0]
    return TracedDocument("inventory.yaml", document.data, source=document)


def list_violation_paths(example_findings: Iterable[Finding], code: str) -> list[str]:
    """Return the findings of a rule, as JSON Pointers in the document."""
    return sorted(to_json_pointer(one.location.path) for one in example_findings if one.rule == code)


def fix_example(example: Mapping[str, Any]) -> dict[str, Any]:
    """Return a bad example without its violation, as stated in its ``mended``."""
    key = "object" if "object" in example else "objects"
    return {**example, key: apply_patch(example[key], example["mended"])}


def _find_failures(
    parts: Sequence[Policy], doc: TracedDocument, index: int, example: Mapping[str, Any], version: str
) -> list[FailedTest]:
    code = parts[0].rule.code
    try:
        messages = list(_iter_broken_promises(code, example, find_violations(example, parts, version)))
        if "mended" in example:
            fixed_findings = find_violations(fix_example(example), parts, version)
            messages += (f"mended, {message}" for message in _iter_unexpected(code, example, fixed_findings))
    except (UsageError, LimitExceeded, PatchError) as error:
        messages = [f"the example cannot be checked: {error}"]
    test = f'{code} {example["verdict"]} "{example["name"]}"'
    return [_build_failure(doc, Diagnostic("", message, ("examples", index)), test) for message in messages]


def _iter_broken_promises(
    code: str, example: Mapping[str, Any], example_findings: Sequence[Finding]
) -> Iterable[str]:
    """Yield sentences about unexpected, missing and misplaced findings."""
    if example["verdict"] != "bad":
        yield from _iter_unexpected(code, example, example_findings)
        return
    violation_paths = list_violation_paths(example_findings, code)
    if not violation_paths:
        other_errors = "; ".join(
            f"{one.rule}: {one.message}" for one in example_findings if one.severity is Severity.ERROR
        )
        yield "the rule is silent" + (f", and there is {other_errors}" if other_errors else "")
        return
    if "at" in example and violation_paths != sorted(example["at"]):
        yield (
            f"the rule fires at {_format_pointers(violation_paths)}, not at"
            f" {_format_pointers(sorted(example['at']))}"
        )
    messages = [one.message for one in example_findings if one.rule == code]
    if "message" in example and example["message"] not in messages:
        yield f'the message is "{messages[0]}", not "{example["message"]}"'


def _iter_unexpected(
    code: str, example: Mapping[str, Any], example_findings: Sequence[Finding]
) -> Iterable[str]:
    """Yield why an example without expected findings fails: the rule has findings, or could not be
    evaluated."""
    violations = [one for one in example_findings if one.rule == code]
    if violations:
        yield (
            f"the rule fires at {_format_pointers(list_violation_paths(example_findings, code))}:"
            f" {violations[0].message}"
        )
    allowed = {code, *example.get("also", ())}
    broken = [one for one in example_findings if one.rule in BUILTIN_RULES and one.severity is Severity.ERROR]
    for error in [one for one in broken if one.rule not in allowed][:1]:
        error_path = to_json_pointer(error.location.path) or "the top"
        yield (
            f"the example is broken at {error_path}, so its silence says nothing: {error.rule}:"
            f" {error.message}"
        )


def _format_pointers(pointers: Sequence[str]) -> str:
    return ", ".join(one or "the top" for one in pointers) or "no place"


def _build_failure(doc: TracedDocument, problem: Diagnostic, test: str) -> FailedTest:
    assert doc.source is not None
    span = doc.source.span(problem.path, problem.on_key)
    return FailedTest(doc.name, span.line, span.column, test, problem.message)
