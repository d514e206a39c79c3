"""Running the examples of policies: through the whole pipeline, as the files they would be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from errno import ENOENT

from podplan import kubernetes
from podplan.checker.base_revision import Before, before
from podplan.checker.check import check_sources
from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.findings import Finding, Problem, Severity, pointer
from podplan.core.limits import BoundExceeded
from podplan.core.provenance import Doc
from podplan.core.typing import Any
from podplan.lint.policy import Policy
from podplan.pipeline import Settings
from podplan.tools.repository_tests import Failure, Outcome, Tested
from podplan.workspace import Reader
from podplan.yaml import Source, read
from podplan.yaml.writer import emit


def run_examples(policies: Iterable[Policy], faults: Iterable[tuple[Doc, Problem]], version: str) -> Outcome:
    """The examples of the policies of a repository run, by the rules of a Kubernetes ``version``.

    ``faults`` are what is wrong with policies that could not be read; each is a failure.
    """
    failures = [_fault(doc, problem) for doc, problem in faults]
    tested: list[Tested] = []
    ran = len(failures)
    for parts in _by_code(policies):
        rule, doc = parts[0].rule, parts[0].tests
        examples = [] if doc is None else [(doc, one) for one in doc.data.get("examples", ())]
        verdicts = tuple(example["verdict"] for _, example in examples)
        tested.append(Tested("policy", rule.code, parts[0].file, verdicts, {"bad", "good"} <= set(verdicts)))
        for index, (where, example) in enumerate(examples):
            ran += 1
            failures += _failures(parts, where, index, example, version)
    return Outcome(ran, tuple(tested), tuple(failures))


def _by_code(policies: Iterable[Policy]) -> list[list[Policy]]:
    """Policies of one code together: an admission policy makes one for each level and object of params."""
    parts: dict[str, list[Policy]] = {}
    for one in policies:
        parts.setdefault(one.rule.code, []).append(one)
    return list(parts.values())


def findings(
    example: Mapping[str, Any], policies: Sequence[Policy], version: str = kubernetes.DEFAULT_VERSION
) -> list[Finding]:
    """What podplan says of an example with these policies. Raises RequestError and BoundExceeded."""
    objects = example.get("objects") or [example["object"]]
    source = read(emit(objects).encode(), "example.yaml")
    given = inventory(example["inventory"]) if "inventory" in example else None
    reader = GivenFiles(given, example.get("files", {}))
    version = example.get("kubernetes", version)
    if version not in kubernetes.versions():
        raise RequestError(f"kubernetes: there are no schemas of Kubernetes {version}")
    settings = Settings(k8s_version=version, policies=tuple(policies), gitops=example.get("gitops", "none"))
    was = _before(objects, example["before"], settings, reader) if "before" in example else None
    result = check_sources([source], settings, reader, before=was)
    if result.given_up:
        raise BoundExceeded("; ".join(one.sentence for one in result.given_up))
    return result.findings


def _before(objects: Any, patch: Any, settings: Settings, reader: Reader) -> Before:
    """The CRs of the objects of an example as they were; the patch of a single one is that of it."""
    was = [merged(objects[0], patch)] if len(objects) == 1 else merged(objects, patch)
    return before([read(emit(was).encode(), "before.yaml")], settings, reader)


class GivenFiles(Reader):
    """Reads the files of an example instead of those of the disk."""

    def __init__(self, given: Doc | None, files: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.given = given
        self.files = files

    def inventory_for(self, _doc: Doc, _named: str = "") -> Doc | None:
        return self.given

    def source(self, _root: str, path: str) -> Source:
        if path not in self.files:
            raise FileNotFoundError(ENOENT, "it is not among the files of the example", path)
        return read(emit([self.files[path]]).encode(), path)


def inventory(spec: Mapping[str, Any]) -> Doc:
    """The ClusterInventory with this spec."""
    data = {
        "apiVersion": "podplan/v1",
        "kind": "ClusterInventory",
        "metadata": {"name": "test"},
        "spec": spec,
    }
    document = read(emit([data]).encode(), "inventory.yaml").documents[0]
    return Doc("inventory.yaml", document.data, source=document)


def places(found: Iterable[Finding], code: str) -> list[str]:
    """Where a rule fired, as JSON Pointers in the document."""
    return sorted(pointer(one.location.path) for one in found if one.rule == code)


def mended(example: Mapping[str, Any]) -> dict[str, Any]:
    """A bad example without its bad part, as its ``mended`` says."""
    key = "object" if "object" in example else "objects"
    return {**example, key: merged(example[key], example["mended"])}


def merged(data: Any, patch: Any) -> Any:
    """``data`` with a JSON Merge Patch (RFC 7386); a list may be patched by a mapping of its indexes."""
    if isinstance(patch, dict) and isinstance(data, list):
        entries = [
            merged(entry, patch.get(str(i), {})) if str(i) in patch else entry for i, entry in enumerate(data)
        ]
        return [entry for i, entry in enumerate(entries) if not (str(i) in patch and patch[str(i)] is None)]
    if not isinstance(patch, dict):
        return patch
    base = data if isinstance(data, dict) else {}
    out = {key: value for key, value in base.items() if not (key in patch and patch[key] is None)}
    return out | {key: merged(base.get(key), value) for key, value in patch.items() if value is not None}


def _failures(
    parts: Sequence[Policy], doc: Doc, index: int, example: Mapping[str, Any], version: str
) -> list[Failure]:
    code = parts[0].rule.code
    try:
        said = list(_broken_promises(code, example, findings(example, parts, version)))
        if "mended" in example:
            now = findings(mended(example), parts, version)
            said += (f"mended, {message}" for message in _noise(code, example, now))
    except (RequestError, BoundExceeded) as error:
        said = [f"the example cannot be checked: {error}"]
    test = f'{code} {example["verdict"]} "{example["name"]}"'
    return [_failure(doc, Problem("", message, ("examples", index)), test) for message in said]


def _broken_promises(code: str, example: Mapping[str, Any], found: Sequence[Finding]) -> Iterable[str]:
    """What a finding too many, too few or elsewhere says, as sentences."""
    if example["verdict"] != "bad":
        yield from _noise(code, example, found)
        return
    fired = places(found, code)
    if not fired:
        others = "; ".join(f"{one.rule}: {one.message}" for one in found if one.severity is Severity.ERROR)
        yield "the rule is silent" + (f", and there is {others}" if others else "")
        return
    if "at" in example and fired != sorted(example["at"]):
        yield f"the rule fires at {_listed(fired)}, not at {_listed(sorted(example['at']))}"
    messages = [one.message for one in found if one.rule == code]
    if "message" in example and example["message"] not in messages:
        yield f'the message is "{messages[0]}", not "{example["message"]}"'


def _noise(code: str, example: Mapping[str, Any], found: Sequence[Finding]) -> Iterable[str]:
    """Why an example on which the rule is to be silent is none: it fires, or could not be judged at all."""
    fired = [one for one in found if one.rule == code]
    if fired:
        yield f"the rule fires at {_listed(places(found, code))}: {fired[0].message}"
    allowed = {code, *example.get("also", ())}
    broken = [one for one in found if one.rule in RULES and one.severity is Severity.ERROR]
    for one in [one for one in broken if one.rule not in allowed][:1]:
        where = pointer(one.location.path) or "the top"
        yield f"the example is broken at {where}, so its silence says nothing: {one.rule}: {one.message}"


def _listed(pointers: Sequence[str]) -> str:
    return ", ".join(one or "the top" for one in pointers) or "no place"


def _fault(doc: Doc, problem: Problem) -> Failure:
    return _failure(doc, problem, problem.rule)


def _failure(doc: Doc, problem: Problem, test: str) -> Failure:
    assert doc.source is not None
    span = doc.source.span(problem.path, problem.on_key)
    return Failure(doc.name, span.line, span.column, test, problem.message)
