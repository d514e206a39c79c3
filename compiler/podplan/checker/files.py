"""What there is to say about one file: its text, and each of its documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from podplan.checker.jobs import note_need, object_findings, plan_findings, secrets_of
from podplan.checker.packed_store import Origin
from podplan.checker.run_state import Run
from podplan.core.builtin_rules import RULES
from podplan.core.findings import Finding, Location
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import trace
from podplan.kubernetes.accessors import mapping
from podplan.lint.aggregation import findings
from podplan.lint.document_diagnostics import Seen, Sighting
from podplan.lint.rule_selection import UNSILENCED
from podplan.pipeline import check_form, plans
from podplan.rendering.header import compare, header_of, source_path
from podplan.workspace.documents import Item, identity, is_helm_template, items, mentions_ours
from podplan.yaml import Fault, Source

_WITH_EXPONENT = pattern(
    r"[-+]?(?!0[0-9_])(?=.*[eE_])(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?"
)


def file_findings(source: Source, run: Run) -> Iterator[Finding]:
    """The findings of a file of ours, in order; what is not ours is counted."""
    found = list(items(source))
    ours = any(item.what != "other" for item in found) or mentions_ours(source.text)
    if not ours or (source.faults and not found and is_helm_template(source.text)):
        run.not_checked.update(item.reason for item in found if not _is_in_policies(source.file, run))
        if not found:
            run.not_checked[_why_nothing(source)] += 1
        return
    if run.silences.open(source):
        run.show(source)
    if any(fault.rule in UNSILENCED for fault in source.faults):
        run.unlowered.add(source.file)
    for fault in (*source.faults, *_hints(source, found, run)):
        yield fault_finding(source, fault)
    text = hash(source.text)
    for number, item in enumerate(found):
        yield from _item_findings(item, Origin(source.file, number, text=text), run)


def _hints(source: Source, found: Iterable[Item], run: Run) -> Iterator[Fault]:
    """The scalars of profiles and CRs that Kubernetes reads as something else than they look.

    A number as people write one is meant where the param is declared as a number.
    """
    ours = [item for item in found if item.what != "other"]
    indexes = {index for item in ours for index in _document_indexes(item)}
    hints = [hint for hint in source.hints if hint.document in indexes]
    if any(_is_written_number(source, hint) for hint in hints):
        meant = {place for item in ours if item.what in ("profile", "base") for place in _numbers(item, run)}
        hints = [
            hint
            for hint in hints
            if (hint.span.start, hint.span.end) not in meant or not _is_written_number(source, hint)
        ]
    return iter(hints)


def _is_written_number(source: Source, hint: Fault) -> bool:
    """Whether a scalar is a number with an exponent or with underscores, and not octal digits or a word."""
    text = source.text[hint.span.start : hint.span.end]
    return _WITH_EXPONENT.fullmatch(text) is not None


def _numbers(item: Item, run: Run) -> Iterator[tuple[int, int]]:
    """Where a profile or a base has numbers that a param declares as such, as offsets."""
    from podplan.profile.extends import extend
    from podplan.profile.numbers import declared_numbers

    written = item.doc.source
    if written is None:
        return
    whole = extend(item.doc, run.reader.load, [])
    params = mapping(mapping(whole.data, "spec"), "params")
    for path in declared_numbers(mapping(item.doc.data, "spec"), params):
        span = written.span(("spec", *path))
        yield span.start, span.end


def _document_indexes(item: Item) -> Iterator[int]:
    end = trace(item.doc, ())[-1].doc.source
    if end is not None:
        yield end.index


def _why_nothing(source: Source) -> str:
    if is_helm_template(source.text):
        return "Helm template"
    return "not YAML" if source.faults else "empty"


def fault_finding(source: Source, fault: Fault) -> Finding:
    """The finding that a fault of a text is."""
    rule, span = RULES[fault.rule], fault.span
    return Finding(
        rule=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=fault.message,
        basis=rule.basis,
        location=Location(source.file, span.line, span.column, span.end_line, span.end_column, ()),
        level="file",
        help=fault.help,
    )


def _is_in_policies(file: str, run: Run) -> bool:
    """Whether the documents of a file were read as policies, examples or params, and so checked."""
    texts = run.settings.terms.policy_texts
    return bool(texts) and os.path.realpath(file) in {os.path.realpath(one) for one in texts}


def _item_findings(item: Item, origin: Origin, run: Run) -> Iterator[Finding]:
    if item.what == "other":
        if not _is_in_policies(item.doc.name, run):
            run.not_checked[item.reason] += 1
            note_need(item, run, origin)
    elif item.what in ("base", "inventory"):
        run.shared.add(item.doc.name)
        faults = [Seen("profile", item.doc, problem) for problem in check_form(item)]
        yield from findings((Sighting("", one, None) for one in faults), secrets_of([item.doc]))
    elif item.what == "object":
        yield from object_findings(item, run, origin)
    elif item.what == "cr" and (said := header_of(item)) is not None:
        run.reader.note(item.doc.name, source_path(item, said))
        stale = compare(item, said, run.settings, run.reader)
        if stale is not None:
            run.not_checked["rendered CR that is stale"] += 1
            sighting = Sighting("", Seen("cr", item.doc, stale), identity(item.doc.data))
            yield from findings([sighting], secrets_of([item.doc]))
        else:
            run.rendered.append((origin, os.path.realpath(source_path(item, said))))
    else:
        yield from plan_findings(plans(item, run.settings, run.reader), run, origin)
