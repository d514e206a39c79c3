"""The policies that an organisation brings: files of our form, and Kubernetes' own admission policies.

They are data. A check that they name is one of ours; nothing from the repository runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.findings import Problem, Severity
from podplan.core.limits import BoundExceeded
from podplan.core.provenance import Doc
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import NamedTuple
from podplan.lint.policy import Policy, policy
from podplan.lint.policy_validation import AS_FORM, FORM, faults
from podplan.lint.vap_import import BINDING_KIND, POLICY_KIND, is_admission, named, read_vap
from podplan.lint.vap_import import code as vap_code
from podplan.schema import check_against
from podplan.workspace.files import NoSuchPath, expand, read_inside, root_of
from podplan.yaml import read

ADMISSION_GROUP = "admissionregistration.k8s.io"
# By one of these a file of our form is known, also where the others are forgotten.
OF_POLICIES = frozenset({"id", "check", "schema", "cel", "scope", "message", "severity"})


class Organisation(NamedTuple):
    """Policies, what is wrong with the files they are in, and the texts of these files."""

    policies: tuple[Policy, ...] = ()
    problems: tuple[tuple[Doc, Problem], ...] = ()
    texts: Mapping[str, str] = {}


def organisation(folders: Sequence[str], known: Iterable[str]) -> Organisation:
    """The policies in folders; ``known`` are codes and names that are taken.

    Raises RequestError for a folder or file that cannot be read, or is not YAML, NoSuchPath and
    BoundExceeded.
    """
    policies: list[Policy] = []
    problems: list[tuple[Doc, Problem]] = []
    texts: dict[str, str] = {}
    taken = set(known)
    for folder in folders:
        docs = list(_docs(folder, texts))
        if not any(doc.data is not None for doc in docs):
            raise NoSuchPath(f'there is no policy in "{folder}"')
        for doc in docs:
            if not is_admission(doc.data) and _is_policy(doc.data):
                found = _problems(doc, taken)
                problems += ((doc, problem) for problem in found)
                if not found:
                    own = policy(doc.data, doc.name)._replace(origin=doc, tests=doc)
                    taken |= {own.rule.code, own.rule.name}
                    policies.append(own)
        problems += ((doc, problem) for doc in docs for problem in _unread(doc.data))
        tests, wrong = _tests(docs)
        problems += wrong
        if any(is_admission(doc.data) for doc in docs):
            admission = read_vap(docs)
            problems += admission.problems
            policies += (
                one._replace(origin=admission.origins[one.rule.code], tests=tests.get(one.rule.code))
                for one in admission.policies
            )
    return Organisation(tuple(policies), tuple(problems), texts)


def _docs(folder: str, texts: dict[str, str]) -> Iterator[Doc]:
    for path in expand([folder]):
        try:
            source = read(read_inside(root_of(folder), path), path)
        except OSError as error:
            raise RequestError(f"{path}: {(error.strerror or str(error)).lower()}") from None
        broken = [fault for fault in source.faults if RULES[fault.rule].severity is Severity.ERROR]
        if broken:
            raise RequestError(f"{path}:{broken[0].span.line}: {broken[0].message}")
        texts[path] = source.text
        for document in source.documents:
            yield Doc(path, document.data, source=document)


def _is_policy(data: object) -> bool:
    """Whether a document means to be a policy of our form; others may be params of admission policies."""
    return (
        isinstance(data, dict)
        and "apiVersion" not in data
        and not _is_test(data)
        and bool(OF_POLICIES & data.keys())
    )


def _unread(data: object) -> Iterator[Problem]:
    """What to say of a document that is neither a policy nor examples nor can be params: nothing asks it."""
    if data is None or is_admission(data) or _is_policy(data) or _is_test(data):
        return
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or "apiVersion" not in data:
        yield Problem(FORM, "this is no policy: it has neither an id, nor an apiVersion and a kind")
    elif data["kind"].endswith("List"):
        yield Problem(
            FORM, "a list of objects is not read here; write each as a document of its own", ("kind",)
        )
    elif str(data["apiVersion"]).startswith(f"{ADMISSION_GROUP}/"):
        near = did_you_mean(data["kind"], (POLICY_KIND, BINDING_KIND))
        yield Problem(FORM, f"podplan does not evaluate a {data['kind']}{near}", ("kind",))


def _tests(docs: Sequence[Doc]) -> tuple[dict[str, Doc], list[tuple[Doc, Problem]]]:
    """The examples of the admission policies of a folder by their codes, and what is wrong with them."""
    tests: dict[str, Doc] = {}
    problems: list[tuple[Doc, Problem]] = []
    names = {named(doc) for doc in docs if is_admission(doc.data) and doc.data["kind"] == POLICY_KIND}
    for doc in (doc for doc in docs if _is_test(doc.data)):
        found = check_against("PolicyTest", doc.data, AS_FORM)
        problems += ((doc, problem) for problem in found)
        if found:
            continue
        name = doc.data["policy"]
        first = tests.setdefault(vap_code(name), doc)
        if name not in names:
            message = f'there is no {POLICY_KIND} "{name}" in this folder{did_you_mean(name, names)}'
            problems.append((doc, Problem(FORM, message, ("policy",))))
        elif first is not doc:
            message = f'the policy "{name}" has examples in {first.name} already'
            problems.append((doc, Problem(FORM, message, ("policy",))))
    return tests, problems


def _is_test(data: object) -> bool:
    """Whether a document means to be the examples of an admission policy."""
    return isinstance(data, dict) and "apiVersion" not in data and {"policy", "examples"} <= data.keys()


def _problems(doc: Doc, taken: set[str]) -> list[Problem]:
    try:
        found = faults(doc.data)
    except BoundExceeded as error:
        raise error.in_file(doc.name) from None
    if not any(problem.path[:1] in ((), ("id",), ("name",)) for problem in found):
        for key in ("id", "name"):
            if doc.data[key] in taken:
                found.append(Problem(FORM, f'{key} "{doc.data[key]}" is that of another policy', (key,)))
    return found
