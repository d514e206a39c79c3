"""Converts the CRs of files to another kind, and compares the processes of the jobs before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from podplan.core.findings import Diagnostic, Path, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument, root_cursor, trace_to_source
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.kinds.conversion import Conversion, ConversionInput, ConversionTarget, Converter
from podplan.kinds.registry import find_kind, iter_kinds_named, load_spec
from podplan.lint.finding_redaction import build_document_redactor
from podplan.pipeline import JobPlan, PipelineSettings, build_references, iter_job_plans
from podplan.schema.pruning import UNKNOWN_FIELD_RULES
from podplan.tools.formatter.comments import attach_comments, count_comments
from podplan.tools.formatter.document_spans import DocumentSpan, find_document_spans
from podplan.tools.formatter.rewriting import change_at, indents_lists, rewrite_document
from podplan.tools.migrator.process_comparison import ProcessComparison, compare_jobs
from podplan.tools.migrator.tree_building import (
    build_added_tree,
    build_document_tree,
    keep_comments,
    resolve_copies,
)
from podplan.workspace.documents import ClassifiedDocument, classify_document
from podplan.workspace.loader import Loader
from podplan.yaml import Document, SourceFile, parse_yaml
from podplan.yaml.edits.changes import FixRefused
from podplan.yaml.positions import LINE_BREAK
from podplan.yaml.tree import CstEntry, CstNode
from podplan.yaml.tree_writer import FormatStyle, format_tree

if TYPE_CHECKING:
    from podplan.kinds.conversion import Outcome

# Comments that a blank line separates from what follows, such as a licence.
_FILE_HEAD = compile_lazily(r"(?:(?:#[^\n]*|---)?\r?\n)*\r?\n")
_FORM_RULE_PREFIX = "SCHEMA"
_TEXT_REASON = "the text around it does not allow it"


class LocatedDecision(NamedTuple):
    """A decision at a 1-based line of the old text."""

    line: int
    outcome: Outcome
    text: str


class JobConversion(NamedTuple):
    """The result for a CR: its names before and after, and the decisions.

    ``reason`` is why it was not converted, or "". ``comparison`` is None if it was not, or for a document
    that is no job; ``failure`` is why the new one could not be lowered.
    """

    line: int
    old_name: str
    new_name: str
    decisions: tuple[LocatedDecision, ...]
    reason: str = ""
    comparison: ProcessComparison | None = None
    failure: str = ""


class FileConversion(NamedTuple):
    """A file with the CRs that were converted; ``withheld`` is why nothing is written to it, or ""."""

    file: str
    before: str
    after: str
    jobs: tuple[JobConversion, ...]
    withheld: str = ""

    @property
    def is_unfinished(self) -> bool:
        """Whether the author has to do something."""
        return bool(self.withheld) or any(
            job.reason or job.failure or any(one.outcome == "lost" for one in job.decisions)
            for job in self.jobs
        )


class _Planned(NamedTuple):
    """A CR that is converted: where it is, its plan, and the result."""

    document: Document
    top: Path
    plan: JobPlan
    converter: Converter
    conversion: Conversion
    line: int
    reason: str = ""
    present: TracedDocument | None = None  # an existing document of the new kind and name


def find_target(name: str) -> ConversionTarget | None:
    """Return the conversion to the kind called ``name``; None if there is none."""
    for kind in iter_kinds_named(name):
        load = load_spec(kind).load_conversion_target
        if load is not None:
            return load()
    return None


def convert_files(
    sources: Sequence[SourceFile], target: ConversionTarget, settings: PipelineSettings, loader: Loader
) -> list[FileConversion]:
    """Convert the CRs of files without syntax errors; the result has those files that have any."""
    planned: dict[str, list[_Planned]] = {}
    texts: dict[str, str] = {}
    for source in sources:
        converted = _mark_present(list(_plan_file(source, target, settings, loader)), source.file, loader)
        if converted:
            planned[source.file], texts[source.file] = _write_file(source, converted)
    changed = {
        source.file: texts[source.file]
        for source in sources
        if texts.get(source.file, source.text) != source.text
    }
    after = Loader(unsaved_texts=changed)
    new_settings = settings._replace(
        lowering_options=target.options(settings.lowering_options)._replace(resumed=True)
    )
    results = []
    for source in sources:
        if source.file in planned:
            new_source = parse_yaml(texts[source.file].encode(), source.file)
            new_plans = _collect_plans(new_source, new_settings, after)
            jobs = tuple(
                _finish(
                    one,
                    target,
                    new_plans if one.present is None else _plan_present(one.present, new_settings, after),
                )
                for one in planned[source.file]
            )
            results.append(FileConversion(source.file, source.text, texts[source.file], jobs))
    return results


def _plan_file(
    source: SourceFile, target: ConversionTarget, settings: PipelineSettings, loader: Loader
) -> Iterator[_Planned]:
    others: list[TracedDocument] | None = None
    for item in loader.classify(source):
        if item.category == "profile":
            yield from _refuse_profile(item, target)
        if item.category != "cr" or not isinstance(item.doc.data, dict):
            continue
        kind = find_kind(item.doc.data.get("apiVersion"), item.doc.data.get("kind"))
        converter = target.converters.get(kind.qualified_name) if kind is not None else None
        if converter is None or not isinstance(item.doc.data.get("spec"), dict):
            continue
        document, top = _locate(item)
        if document is None:
            continue
        if others is None:
            others = _find_documents(loader, source.file, target.document_kinds, settings.runtime_folders)
        options = converter.old_options(item.doc.data, others, settings.lowering_options)
        if options is not None:
            old_settings = settings._replace(lowering_options=options._replace(resumed=True))
            yield _plan_job(item, (document, top), converter, others, old_settings, loader)


def _refuse_profile(item: ClassifiedDocument, target: ConversionTarget) -> Iterator[_Planned]:
    """Yield the refusal of a profile that compiles to a converted kind."""
    job = value_at(item.doc.data, ("spec", "job"))
    kind = next(iter_kinds_named(job), None)
    converter = target.converters.get(kind.qualified_name) if kind is not None else None
    document = item.doc.source
    if converter is None or document is None or converter.keeps_kind:
        return
    reason = (
        f"it compiles to {job}: change job, and the fields of the profile that the new kind does not have"
    )
    line = document.span(("spec", "job")).line
    yield _Planned(document, (), JobPlan(item), converter, Conversion(None), line, reason)


def _locate(item: ClassifiedDocument) -> tuple[Document | None, Path]:
    """Return the document of a text with a CR, and where the CR is in it."""
    if item.doc.source is not None:
        return item.doc.source, ()
    step = trace_to_source(item.doc, ())[-1]
    return step.doc.source, step.path


def _plan_job(
    item: ClassifiedDocument,
    place: tuple[Document, Path],
    converter: Converter,
    others: Sequence[TracedDocument],
    settings: PipelineSettings,
    loader: Loader,
) -> _Planned:
    plan = next(iter(iter_job_plans(item, settings, loader)))
    document, top = place
    line = document.span((*top, "kind")).line
    error = next((one.message for one in plan.diagnostics if _is_refusal(one)), "")
    if not plan.is_lowered or plan.cr is None or error:
        reason = error or next((one.message for one in plan.diagnostics), "it cannot be lowered")
        return _Planned(document, top, plan, converter, Conversion(None), line, reason)
    source = ConversionInput(plan.cr, plan.replica_groups, others, settings.lowering_options)
    conversion = converter.convert(source)
    return _Planned(document, top, plan, converter, conversion, line)


def _is_refusal(diagnostic: Diagnostic) -> bool:
    """Whether the API server refuses a CR, or one of its lowered objects."""
    return diagnostic.rule.startswith(_FORM_RULE_PREFIX) and diagnostic.rule not in UNKNOWN_FIELD_RULES


def _mark_present(planned: list[_Planned], file: str, loader: Loader) -> list[_Planned]:
    """Return the conversions; those whose new job exists in the repository already are refused."""
    wanted = [_identify_new(one) for one in planned]
    kinds = {name[0] for name in wanted if name is not None}
    documents: dict[tuple[str, str, str], TracedDocument] = {}
    for doc in loader.find_documents(file, kinds) if kinds else ():
        if isinstance(doc.data, dict):
            documents.setdefault(_identify(doc.data), doc)
    marked = []
    for one, name in zip(planned, wanted, strict=True):
        present = documents.get(name) if name is not None else None
        if name is not None and present is not None:
            reason = f"{name[0]}/{name[2]} is in {present.file} already, and is compared below"
            one = one._replace(reason=reason, present=present)
        marked.append(one)
    return marked


def _identify_new(one: _Planned) -> tuple[str, str, str] | None:
    """Return the identity of the new CR, if it differs from the old one."""
    if one.conversion.document is None:
        return None
    new = _identify(resolve_copies(one.conversion.document, one.plan.item.doc.data))
    return new if new != _identify(one.plan.item.doc.data) else None


def _plan_present(
    doc: TracedDocument, settings: PipelineSettings, loader: Loader
) -> dict[tuple[str, str, str], JobPlan]:
    plan = next(iter(iter_job_plans(classify_document(doc), settings, loader)))
    return {_identify(doc.data): plan}


def _find_documents(
    loader: Loader, file: str, kinds: tuple[str, ...], folders: tuple[str, ...]
) -> list[TracedDocument]:
    """Return the documents of some kinds that a CR may refer to, each once, those of the platform first."""
    found: dict[tuple[str, str, str], TracedDocument] = {}
    listed = [
        *(loader.find_documents(file, kinds, folders) if folders else ()),
        *loader.find_documents(file, kinds),
    ]
    for doc in listed:
        if (
            isinstance(doc.data, dict)
            and doc.data.get("kind") in kinds
            and isinstance(doc.data.get("spec"), dict)
        ):
            metadata = doc.data.get("metadata") or {}
            key = str(doc.data["kind"]), str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
            found.setdefault(key, doc)
    return list(found.values())


def _write_file(source: SourceFile, converted: list[_Planned]) -> tuple[list[_Planned], str]:
    """Return the conversions with the reasons of refusals, and the new text of the file."""
    text = source.text
    spans = find_document_spans(text)
    written: list[_Planned] = []
    replacements: list[tuple[int, int, str]] = []
    by_document: dict[int, list[_Planned]] = {}
    for one in converted:
        by_document.setdefault(one.document.index, []).append(one)
    for index, group in by_document.items():
        span = spans[index]
        new_group, new_text = _write_document(text, span, group)
        written += new_group
        if new_text is not None:
            replacements.append((span.start, span.end, new_text))
    for start, end, new_text in reversed(replacements):
        text = text[:start] + new_text + text[end:]
    return written, text


def _write_document(
    text: str, span: DocumentSpan, group: list[_Planned]
) -> tuple[list[_Planned], str | None]:
    """Return the conversions of a document and its new text; None if it does not change."""
    old = attach_comments(text, span.tree, span.start, span.end)
    tree, added = old, ""
    written: list[_Planned] = []
    for one in reversed(group):  # in reverse order, so that the indexes of earlier entries of a List stay
        if one.conversion.document is None or one.reason:
            written.append(one)
            continue
        try:
            if text.lstrip("\ufeff \n").startswith("{"):
                raise FixRefused("it is JSON: convert it to YAML first")
            new_tree, new_added = _convert_tree(tree, one, text)
        except (FixRefused, LookupError) as error:
            reason = (
                str(error) if isinstance(error, FixRefused) else "it comes through an alias or a merge key"
            )
            written.append(one._replace(reason=reason))
            continue
        tree, added = new_tree, new_added + added
        written.append(one)
    written.reverse()
    if tree is old:
        return written, None
    new_text = rewrite_document(text, old, tree, span.start, span.end)
    head = _FILE_HEAD.match(new_text) if added else None
    start = head.end() if head is not None else 0
    new_text = new_text[:start] + added + new_text[start:]
    if not _has_expected_data(new_text, written, text, span):
        return [one._replace(reason=one.reason or _TEXT_REASON) for one in written], None
    return written, new_text


def _convert_tree(tree: CstNode, one: _Planned, text: str) -> tuple[CstNode, str]:
    """Return the tree of a document with a CR converted, and the text of the documents before it."""
    document, cr = one.conversion.document, one.plan.item.doc.data
    assert document is not None
    old = tree
    for step in one.top:
        old = next(entry for at, entry in enumerate(old.entries) if _is_step(entry, at, step)).value
    if old.prefix:
        raise FixRefused("it has an anchor")
    new = build_document_tree(document, old, cr)
    added = [build_added_tree(each, old, cr) for each in one.conversion.added]
    new = keep_comments(new, added, old, ("spec", "trainer"))
    if not one.top:
        list_indent = "  " if indents_lists(old) else ""
        style = FormatStyle(list_indent, normalizes_scalars=False, width=len(text))
        line_break = LINE_BREAK.search(text)
        break_text = line_break[0] if line_break else "\n"
        lines = [line for each in added for line in (*format_tree(each, text, style), "---")]
        return new, "".join(line + break_text for line in lines)
    items, index = one.top[:-1], one.top[-1]
    assert isinstance(index, int)

    def insert(below: CstNode) -> CstNode:
        entries = list(below.entries)
        entries[index] = entries[index]._replace(value=new)
        entries[index:index] = [CstEntry(None, each, -1) for each in added]
        return below._replace(entries=tuple(entries), is_flow=False)

    return change_at(tree, items, insert), ""


def _is_step(entry: CstEntry, index: int, step: str | int) -> bool:
    return index == step if entry.key is None else entry.key.value == step


def _has_expected_data(new_text: str, written: list[_Planned], text: str, span: DocumentSpan) -> bool:
    """Whether a new text has the converted documents, and all comments of the old one."""
    source = parse_yaml(new_text.encode(), "")
    if source.diagnostics:
        return False
    found = [document.data for document in source.documents]
    for data in list(found):
        if isinstance(data, dict) and isinstance(data.get("items"), list):
            found += data["items"]
    expected = [
        resolve_copies(document, one.plan.item.doc.data)
        for one in written
        if one.conversion.document is not None and not one.reason
        for document in (*one.conversion.added, one.conversion.document)
    ]
    old_comments = count_comments(parse_yaml(text[span.start : span.end].encode(), ""))
    return all(one in found for one in expected) and not old_comments - count_comments(source)


def _collect_plans(
    source: SourceFile, settings: PipelineSettings, loader: Loader
) -> dict[tuple[str, str, str], JobPlan]:
    plans: dict[tuple[str, str, str], JobPlan] = {}
    for item in loader.classify(source):
        if item.category == "cr" and isinstance(item.doc.data, dict):
            for plan in iter_job_plans(item, settings, loader):
                plans.setdefault(_identify(item.doc.data), plan)
    return plans


def _identify(data: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = data.get("metadata") or {}
    name = str(metadata.get("name") or metadata.get("generateName") or "")
    return str(data.get("kind")), str(metadata.get("namespace") or ""), name


def _finish(
    one: _Planned, target: ConversionTarget, new_plans: Mapping[tuple[str, str, str], JobPlan]
) -> JobConversion:
    old_data = one.plan.item.doc.data
    old_name = _format_name(old_data)
    redactor = build_document_redactor([one.plan.item.doc, one.plan.cr])
    decisions = tuple(_locate_decisions(one, redactor.redact_text))
    reason = redactor.redact_text(one.reason)
    if one.conversion.document is None:
        return JobConversion(one.line, old_name, "", decisions, reason or one.conversion.reason)
    if reason:
        decisions = ()  # they are about the refused job
    if reason and one.present is None:
        return JobConversion(one.line, old_name, "", decisions, reason)
    new_data = resolve_copies(one.conversion.document, old_data)
    new_name = _format_name(new_data)
    old_plan, new_plan = one.plan, new_plans.get(_identify(new_data))
    if not old_plan.replica_groups:
        return JobConversion(one.line, old_name, new_name, decisions)
    if new_plan is None or not new_plan.is_lowered or new_plan.cr is None or old_plan.cr is None:
        diagnostics = new_plan.diagnostics if new_plan is not None else ()
        failure = next((each.message for each in diagnostics), "it cannot be lowered")
        failure = redactor.redact_text(failure)
        return JobConversion(one.line, old_name, new_name, decisions, reason, failure=failure)
    lives = (
        one.converter.describe_life(
            root_cursor(old_plan.cr), build_references(old_plan.references), old_plan.replica_groups
        ),
        target.describe_life(
            root_cursor(new_plan.cr), build_references(new_plan.references), new_plan.replica_groups
        ),
    )
    comparison = compare_jobs(old_plan, new_plan, lives, target.trains, redactor)
    return JobConversion(one.line, old_name, new_name, decisions, reason, comparison)


def _format_name(data: Mapping[str, Any]) -> str:
    kind, _, name = _identify(data)
    return f"{kind}/{name or '?'}"


def _locate_decisions(one: _Planned, redact: Any) -> Iterator[LocatedDecision]:
    for decision in one.conversion.decisions:
        path = (*one.top, *decision.path)
        while path and not _exists(one.document.data, path):
            path = path[:-1]
        line = one.document.span(path, on_key=bool(path)).line
        yield LocatedDecision(line, decision.outcome, redact(decision.text))


def _exists(data: Any, path: Path) -> bool:
    return value_at(data, path) is not None


def list_changed(conversions: Iterable[FileConversion]) -> dict[str, str]:
    """Return the new texts of the files that change."""
    return {one.file: one.after for one in conversions if one.after != one.before}
