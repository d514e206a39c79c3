"""Baselines: a file of known findings. It has no line numbers, so that findings stay known when lines move.

A finding is identified by its rule, object, level, path (entries of lists by name if they have one), and a
hash of the value there: with another value it is new.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from podplan.core.errors import UsageError
from podplan.core.findings import Finding
from podplan.core.path_syntax import format_path
from podplan.core.typing import Any, NamedTuple
from podplan.lint.stable_identity import SECRET_VALUE_RULES, remove_numbers
from podplan.workspace.files import relative_to_root
from podplan.yaml.conflicts import find_conflict

SUPPRESSION_REASON = "baseline"
DEFAULT_FILE = "podplan-baseline.json"
FORMAT_VERSION = 1
_LATER_FORMATS = range(FORMAT_VERSION + 1, 1_000)  # formats that a podplan to come may write
_OBJECT_KEYS = ("apiVersion", "kind", "namespace", "name")
_HASH_LENGTH = 16


class BaselineEntry(NamedTuple):
    """A known finding, and how many ``occurrences`` it has.

    ``object_id`` is apiVersion, kind, namespace and name of its object, None for a finding about a text.
    ``value_hash`` is "" if the value is a secret. ``file`` is relative to the root. ``file`` and ``message``
    are for readers; only without an object does ``file`` identify the finding.
    """

    rule: str
    object_id: tuple[str | None, ...] | None
    level: str
    path: str
    value_hash: str
    file: str
    message: str
    occurrences: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """What identifies a finding."""
        owner = self.object_id if self.object_id is not None else self.file
        return (self.rule, owner, self.level, self.path, self.value_hash)


def build_entry(finding: Finding, texts: Mapping[str, str]) -> BaselineEntry:
    """Return the entry for a finding; ``texts`` has the text of its file if the finding is about a text."""
    location, anchor = finding.location, finding.identity
    object_data = finding.object or (anchor.object_id if anchor is not None else None)
    if object_data is None:
        value = _hash_line(texts.get(location.file, ""), location.line)
    else:
        is_secret = finding.rule in SECRET_VALUE_RULES or (anchor is not None and anchor.contains_secret)
        value = "" if is_secret else _hash_value(anchor and anchor.value)
    return BaselineEntry(
        finding.rule,
        tuple(_to_text(object_data.get(part)) for part in _OBJECT_KEYS) if object_data is not None else None,
        finding.level,
        anchor.path if anchor is not None else format_path(None, location.path),
        value,
        relative_to_root(location.file),
        finding.message,
    )


@lru_cache(maxsize=1024)
def _hash_line(text: str, number: int) -> str:
    """The hash of a line, 1-based; thousands of findings may be in one that is megabytes long."""
    return _hash_value("".join(_split_lines(text)[number - 1 : number]).strip())


@lru_cache(maxsize=4)
def _split_lines(text: str) -> list[str]:
    return text.split("\n")


def suppress_known_findings(
    findings: Sequence[Finding],
    entries: Iterable[BaselineEntry],
    texts: Mapping[str, str],
    may_suppress: Callable[[Finding], bool],
    ignores_numbers: bool = False,
) -> list[Finding]:
    """Return the findings, with the known ones marked as suppressed if ``may_suppress`` allows it.

    Of equal findings, at most as many are suppressed as their entry has occurrences. If it
    ``ignores_numbers``, findings about a mapping that are equal but for numbers are known, too.
    """
    entries = tuple(entries)
    remaining: Counter[tuple[object, ...]] = Counter()
    for baseline_entry in entries:
        remaining[baseline_entry.key] += baseline_entry.occurrences

    def suppress(
        finding: Finding,
        left: Counter[tuple[object, ...]],
        get_key: Callable[[BaselineEntry], tuple[object, ...]],
    ) -> Finding:
        if finding.suppressed or not may_suppress(finding):
            return finding
        key = get_key(build_entry(finding, texts))
        if left[key] <= 0:
            return finding
        left[key] -= 1
        return finding._replace(suppressed=True, reason=SUPPRESSION_REASON)

    marked = [suppress(found, remaining, lambda one: one.key) for found in findings]
    if not ignores_numbers:
        return marked
    similar: Counter[tuple[object, ...]] = Counter()
    for baseline_entry in {one.key: one for one in entries}.values():
        similar[_remove_numbers(baseline_entry)] += remaining[baseline_entry.key]
    return [
        suppress(found, similar, _remove_numbers)
        if found.identity is not None and found.identity.is_of_mapping
        else found
        for found in marked
    ]


def _remove_numbers(baseline_entry: BaselineEntry) -> tuple[object, ...]:
    """Return what identifies a finding whose message may have other numbers."""
    return (*baseline_entry.key[:-1], remove_numbers(baseline_entry.message))


def collect_entries(findings: Iterable[Finding], texts: Mapping[str, str]) -> tuple[BaselineEntry, ...]:
    """The entries for findings, equal ones counted, in the order in which the file has them."""
    entries: dict[tuple[object, ...], BaselineEntry] = {}
    for new_entry in (build_entry(found, texts) for found in findings):
        existing = entries.get(new_entry.key)
        entries[new_entry.key] = (
            new_entry if existing is None else existing._replace(occurrences=existing.occurrences + 1)
        )
    return tuple(sorted(entries.values(), key=_sort_key))


def prune_entries(
    entries: Iterable[BaselineEntry],
    current: Iterable[BaselineEntry],
    is_fixed: Callable[[BaselineEntry], bool],
) -> tuple[list[BaselineEntry], list[BaselineEntry]]:
    """Return the entries to keep and those to remove, given the ``current`` findings.

    ``is_fixed`` decides whether an entry without a current finding is removed: it is not, if its file was not
    checked. An entry that is kept gets the current file and message, and at most the current number of
    occurrences.
    """
    current_by_key = {one.key: one for one in current}
    kept: list[BaselineEntry] = []
    removed: list[BaselineEntry] = []
    for old_entry in entries:
        current_entry = current_by_key.get(old_entry.key)
        if current_entry is not None:
            kept.append(
                current_entry._replace(occurrences=min(old_entry.occurrences, current_entry.occurrences))
            )
            if current_entry.occurrences < old_entry.occurrences:
                removed.append(
                    old_entry._replace(occurrences=old_entry.occurrences - current_entry.occurrences)
                )
        else:
            (removed if is_fixed(old_entry) else kept).append(old_entry)
    return kept, removed


def serialize_baseline(entries: Iterable[BaselineEntry]) -> str:
    """The text of a baseline file."""
    findings = [_entry_to_json(one) for one in sorted(entries, key=_sort_key)]
    return json.dumps({"format": FORMAT_VERSION, "findings": findings}, indent=2, ensure_ascii=False) + "\n"


def parse_baseline(text: str, file: str) -> tuple[BaselineEntry, ...]:
    """The entries of a baseline file. Raises UsageError where it is none."""
    try:
        data = json.loads(text.removeprefix("\ufeff"))  # some editors put a byte order mark before it
    except (ValueError, RecursionError) as error:
        if (conflict := find_conflict(text)) is not None:
            line, end_line = (text.count("\n", 0, at) + 1 for at in (conflict.first, conflict.last))
            raise UsageError(f"{file}:{line}: {conflict.message(line, end_line)}") from None
        line_text = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(
            f"{file}{line_text}: this is no JSON; podplan baseline create makes the file"
        ) from None
    format_version = data.get("format") if isinstance(data, dict) else None
    if format_version in _LATER_FORMATS:
        raise UsageError(
            f"{file}: this baseline has format {format_version}, and this podplan reads format"
            f" {FORMAT_VERSION}; podplan baseline create makes the file anew"
        )
    if (
        not isinstance(data, dict)
        or format_version != FORMAT_VERSION
        or not isinstance(data.get("findings"), list)
    ):
        raise UsageError(
            f'{file}: this is no baseline: it wants "format": {FORMAT_VERSION} and a list of "findings";'
            " podplan baseline create makes the file"
        )
    return tuple(_parse_entry(one, number, file) for number, one in enumerate(data["findings"]))


def _parse_entry(data: Any, number: int, file: str) -> BaselineEntry:
    texts = ("rule", "level", "path", "value", "file", "message")
    if isinstance(data, dict) and all(isinstance(data.get(key), str) for key in texts):
        object_data, count = data.get("object"), data.get("count", 1)
        is_valid = object_data is None or (
            isinstance(object_data, dict)
            and all(isinstance(object_data.get(part), str | None) for part in _OBJECT_KEYS)
        )
        if is_valid and isinstance(count, int) and count > 0:
            object_id = (
                tuple(object_data.get(part) for part in _OBJECT_KEYS) if object_data is not None else None
            )
            level, path, value, entry_file, message = (data[key] for key in texts[1:])
            return BaselineEntry(data["rule"], object_id, level, path, value, entry_file, message, count)
    raise UsageError(
        f"{file}: findings[{number}] is no entry of a baseline; podplan baseline create makes the file"
    )


def _entry_to_json(baseline_entry: BaselineEntry) -> dict[str, Any]:
    object_data = (
        dict(zip(_OBJECT_KEYS, baseline_entry.object_id, strict=True))
        if baseline_entry.object_id is not None
        else None
    )
    data = {
        "rule": baseline_entry.rule,
        "object": object_data,
        "level": baseline_entry.level,
        "path": baseline_entry.path,
        "value": baseline_entry.value_hash,
        "file": baseline_entry.file,
        "message": baseline_entry.message,
    }
    return data | ({"count": baseline_entry.occurrences} if baseline_entry.occurrences > 1 else {})


def _sort_key(baseline_entry: BaselineEntry) -> tuple[object, ...]:
    object_id = tuple(part or "" for part in baseline_entry.object_id or ())
    return (
        baseline_entry.file,
        object_id,
        baseline_entry.path,
        baseline_entry.rule,
        baseline_entry.level,
        baseline_entry.value_hash,
    )


def _hash_value(value: Any) -> str:
    from hashlib import sha256

    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


def _to_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
