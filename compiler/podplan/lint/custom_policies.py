"""Custom policies: files in the format of podplan, and admission policies of Kubernetes.

They are data. A check that they name is one of podplan; nothing from the repository runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Diagnostic, Severity
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any, NamedTuple
from podplan.lint.checks import CHECK_ALIASES
from podplan.lint.example_objects import ExampleBases, PatchError
from podplan.lint.policy import Policy, parse_policy
from podplan.lint.policy_validation import FORM_RULE_BY_SCHEMA_RULE, POLICY_FORM_RULE, validate_policy
from podplan.lint.vap_import import (
    BINDING_KIND,
    POLICY_KIND,
    get_document_name,
    import_vap,
    is_admission_document,
)
from podplan.lint.vap_import import build_rule_code as vap_code
from podplan.schema import validate_against
from podplan.workspace.files import PathNotFound, expand_paths, find_root, read_inside_root
from podplan.yaml import parse_yaml

ADMISSION_GROUP = "admissionregistration.k8s.io"
# By one of these a file of our form is known, also where the others are forgotten.
POLICY_KEYS = frozenset({"id", "check", "schema", "cel", "scope", "message", "severity"})


class CustomPolicies(NamedTuple):
    """Policies, what is wrong with the files they are in, and the texts of these files."""

    policies: tuple[Policy, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    file_texts: Mapping[str, str] = {}


def load_custom_policies(folders: Sequence[str], reserved_names: Iterable[str]) -> CustomPolicies:
    """Return the policies in folders; ``reserved_names`` are codes and names that they must not use.

    Raises UsageError for a folder or file that cannot be read, or is not YAML, PathNotFound and
    LimitExceeded.
    """
    policies: list[Policy] = []
    diagnostics: list[Diagnostic] = []
    file_texts: dict[str, str] = {}
    used_names = set(reserved_names)
    for folder in folders:
        docs = list(_read_documents(folder, file_texts))
        if not any(doc.data is not None for doc in docs):
            raise PathNotFound(f'there is no policy in "{folder}"')
        bases, base_diagnostics = _collect_bases(docs)
        diagnostics += base_diagnostics
        for doc in docs:
            if not is_admission_document(doc.data) and _is_policy(doc.data):
                doc = _resolve_check_alias(doc)
                doc_diagnostics = _validate_document(doc, used_names)
                if not doc_diagnostics:
                    doc, doc_diagnostics = _resolve_examples(doc, bases)
                diagnostics += (problem._replace(doc=doc) for problem in doc_diagnostics)
                if not doc_diagnostics:
                    custom_policy = parse_policy(doc.data, doc.name)._replace(origin_doc=doc, tests_doc=doc)
                    rule = custom_policy.rule
                    used_names |= {rule.code, rule.name, *rule.aliases}
                    policies.append(custom_policy)
        diagnostics += (
            problem._replace(doc=doc) for doc in docs for problem in _diagnose_unknown_document(doc.data)
        )
        tests, test_diagnostics = _collect_tests(docs, bases)
        diagnostics += test_diagnostics
        if any(is_admission_document(doc.data) for doc in docs):
            imported = import_vap(docs)
            diagnostics += imported.diagnostics
            policies += (
                one._replace(
                    origin_doc=imported.origin_docs[one.rule.code], tests_doc=tests.get(one.rule.code)
                )
                for one in imported.policies
            )
    return CustomPolicies(tuple(policies), tuple(diagnostics), file_texts)


def _collect_bases(
    docs: Sequence[TracedDocument],
) -> tuple[ExampleBases, list[Diagnostic]]:
    """The base objects of a folder for examples, and what is wrong with them."""
    objects: dict[str, Any] = {}
    owners: dict[str, TracedDocument] = {}
    diagnostics: list[Diagnostic] = []
    for doc in (doc for doc in docs if _is_example_bases(doc.data)):
        doc_diagnostics = validate_against("ExampleBases", doc.data, FORM_RULE_BY_SCHEMA_RULE)
        diagnostics += (problem._replace(doc=doc) for problem in doc_diagnostics)
        if doc_diagnostics:
            continue
        for name, data in doc.data["bases"].items():
            if name in owners:
                message = f'the base "{name}" is in {owners[name].name} already'
                diagnostics.append(Diagnostic(POLICY_FORM_RULE, message, ("bases", name), True, doc=doc))
            objects.setdefault(name, data)
            owners.setdefault(name, doc)
    bases = ExampleBases(objects)
    for name, doc in owners.items():
        try:
            bases.resolve_object(objects[name])
        except PatchError as error:
            path = ("bases", name, *error.path)
            diagnostics.append(Diagnostic(POLICY_FORM_RULE, error.message, path, doc=doc))
    return bases, diagnostics


def _resolve_check_alias(doc: TracedDocument) -> TracedDocument:
    """The document with the name that its check has today."""
    check = doc.data.get("check")
    if not isinstance(check, str) or check not in CHECK_ALIASES:
        return doc
    return TracedDocument(doc.name, doc.data | {"check": CHECK_ALIASES[check]}, source=doc.source)


def _resolve_examples(doc: TracedDocument, bases: ExampleBases) -> tuple[TracedDocument, list[Diagnostic]]:
    """The document with whole objects in its examples, and what is wrong with their patches."""
    examples: list[Any] = []
    diagnostics: list[Diagnostic] = []
    for index, example in enumerate(doc.data["examples"]):
        try:
            examples.append(bases.resolve_example(example))
        except PatchError as error:
            path = ("examples", index, *error.path)
            diagnostics.append(Diagnostic(POLICY_FORM_RULE, error.message, path))
    return TracedDocument(doc.name, doc.data | {"examples": examples}, source=doc.source), diagnostics


def _is_example_bases(data: object) -> bool:
    """Whether a document means to be base objects for examples."""
    return isinstance(data, dict) and "bases" in data and not {"apiVersion", *POLICY_KEYS} & data.keys()


def _read_documents(folder: str, file_texts: dict[str, str]) -> Iterator[TracedDocument]:
    for path in expand_paths([folder], exclude=(".#*",)):  # links by which Emacs locks files
        try:
            source = parse_yaml(read_inside_root(find_root(folder), path), path)
        except OSError as error:
            raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
        errors = [
            fault for fault in source.diagnostics if BUILTIN_RULES[fault.rule].severity is Severity.ERROR
        ]
        if errors:
            raise UsageError(f"{path}:{errors[0].span.line}: {errors[0].message}")
        file_texts[path] = source.text
        for document in source.documents:
            yield TracedDocument(path, document.data, source=document)


def _is_policy(data: object) -> bool:
    """Whether a document means to be a policy of our form; others may be params of admission policies."""
    return (
        isinstance(data, dict)
        and "apiVersion" not in data
        and not _is_policy_test(data)
        and bool(POLICY_KEYS & data.keys())
    )


def _diagnose_unknown_document(data: object) -> Iterator[Diagnostic]:
    """What to say of a document that is neither a policy nor examples nor can be params: nothing asks it."""
    if data is None or is_admission_document(data) or _is_policy(data) or _is_policy_test(data):
        return
    if _is_example_bases(data):
        return
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or "apiVersion" not in data:
        yield Diagnostic(
            POLICY_FORM_RULE, "this is no policy: it has neither an id, nor an apiVersion and a kind"
        )
    elif data["kind"].endswith("List"):
        yield Diagnostic(
            POLICY_FORM_RULE,
            "a list of objects is not read here; write each as a document of its own",
            ("kind",),
        )
    elif str(data["apiVersion"]).startswith(f"{ADMISSION_GROUP}/"):
        suggestion = suggest_phrase(data["kind"], (POLICY_KIND, BINDING_KIND))
        yield Diagnostic(
            POLICY_FORM_RULE, f"podplan does not evaluate a {data['kind']}{suggestion}", ("kind",)
        )


def _collect_tests(
    docs: Sequence[TracedDocument], bases: ExampleBases
) -> tuple[dict[str, TracedDocument], list[Diagnostic]]:
    """The examples of the admission policies of a folder by their codes, and what is wrong with them."""
    tests: dict[str, TracedDocument] = {}
    diagnostics: list[Diagnostic] = []
    policy_names = {
        get_document_name(doc)
        for doc in docs
        if is_admission_document(doc.data) and doc.data["kind"] == POLICY_KIND
    }
    for doc in (doc for doc in docs if _is_policy_test(doc.data)):
        doc_diagnostics = validate_against("PolicyTest", doc.data, FORM_RULE_BY_SCHEMA_RULE)
        if not doc_diagnostics:
            doc, doc_diagnostics = _resolve_examples(doc, bases)
        diagnostics += (problem._replace(doc=doc) for problem in doc_diagnostics)
        if doc_diagnostics:
            continue
        name = doc.data["policy"]
        first_doc = tests.setdefault(vap_code(name), doc)
        if name not in policy_names:
            message = f'there is no {POLICY_KIND} "{name}" in this folder{suggest_phrase(name, policy_names)}'
            diagnostics.append(Diagnostic(POLICY_FORM_RULE, message, ("policy",), doc=doc))
        elif first_doc is not doc:
            message = f'the policy "{name}" has examples in {first_doc.name} already'
            diagnostics.append(Diagnostic(POLICY_FORM_RULE, message, ("policy",), doc=doc))
    return tests, diagnostics


def _is_policy_test(data: object) -> bool:
    """Whether a document means to be the examples of an admission policy."""
    return isinstance(data, dict) and "apiVersion" not in data and {"policy", "examples"} <= data.keys()


def _validate_document(doc: TracedDocument, used_names: set[str]) -> list[Diagnostic]:
    try:
        diagnostics = validate_policy(doc.data)
    except LimitExceeded as error:
        raise error.with_file(doc.name) from None
    if not any(problem.path[:1] in ((), ("id",), ("name",)) for problem in diagnostics):
        names = [("id", doc.data["id"]), ("name", doc.data["name"])]
        for key, name in (*names, *(("aliases", alias) for alias in doc.data.get("aliases", ()))):
            if name in used_names:
                message = f'{key} "{name}" is that of another policy'
                diagnostics.append(Diagnostic(POLICY_FORM_RULE, message, (key,)))
    return diagnostics
