"""What was found before: a file of known findings, each told without lines, so that it survives their move.

A finding is known by its rule, object, level, path (entries of lists by name where they have one), and a hash
of the value there: with another value it is new.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from podplan.core.errors import RequestError
from podplan.core.findings import Finding
from podplan.core.path_syntax import show
from podplan.core.typing import Any, NamedTuple
from podplan.lint.stable_identity import ON_SECRETS
from podplan.workspace.files import from_root
from podplan.yaml.conflicts import find_conflict

REASON = "baseline"
DEFAULT_FILE = "podplan-baseline.json"
FORMAT = 1
_LATER = range(FORMAT + 1, 1_000)  # formats that a podplan to come may write
_OBJECT = ("apiVersion", "kind", "namespace", "name")
_DIGITS = 16


class Entry(NamedTuple):
    """A known finding, so many ``times``.

    ``named`` is apiVersion, kind, namespace and name of its object, None for a fault of a text. ``file`` is
    as seen from the root. ``file`` and ``message`` are for reading; but without an object, the file counts.
    """

    rule: str
    named: tuple[str | None, ...] | None
    level: str
    path: str
    value: str
    file: str
    message: str
    times: int = 1

    @property
    def key(self) -> tuple[object, ...]:
        """What a finding is recognised by."""
        where = self.named if self.named is not None else self.file
        return (self.rule, where, self.level, self.path, self.value)


def entry(found: Finding, texts: Mapping[str, str]) -> Entry:
    """The entry for a finding; ``texts`` has the text of its file, if it is a fault of the text."""
    where, anchor = found.location, found.anchor
    named = found.object or (anchor.named if anchor is not None else None)
    if named is None:
        value = _hash_of_line(texts.get(where.file, ""), where.line)
    else:
        secret = found.rule in ON_SECRETS or (anchor is not None and anchor.secret)
        value = "" if secret else _hash(anchor and anchor.value)
    return Entry(
        found.rule,
        tuple(_text(named.get(part)) for part in _OBJECT) if named is not None else None,
        found.level,
        anchor.path if anchor is not None else show(None, where.path),
        value,
        from_root(where.file),
        found.message,
    )


@lru_cache(maxsize=1024)
def _hash_of_line(text: str, number: int) -> str:
    """The hash of a line, 1-based; thousands of findings may be in one that is megabytes long."""
    return _hash("".join(_lines(text)[number - 1 : number]).strip())


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    return text.split("\n")


def without_known(
    findings: Sequence[Finding],
    entries: Iterable[Entry],
    texts: Mapping[str, str],
    may_be: Callable[[Finding], bool],
) -> list[Finding]:
    """The findings, with those that are known, and ``may_be``, marked as suppressed: as many as are known."""
    left: Counter[tuple[object, ...]] = Counter()
    for known in entries:
        left[known.key] += known.times
    return [_marked(found, left, texts) if may_be(found) else found for found in findings]


def _marked(found: Finding, left: Counter[tuple[object, ...]], texts: Mapping[str, str]) -> Finding:
    if found.suppressed:
        return found
    key = entry(found, texts).key
    if left[key] <= 0:
        return found
    left[key] -= 1
    return found._replace(suppressed=True, reason=REASON)


def collected(findings: Iterable[Finding], texts: Mapping[str, str]) -> tuple[Entry, ...]:
    """The entries for findings, equal ones counted, in the order in which the file has them."""
    entries: dict[tuple[object, ...], Entry] = {}
    for one in (entry(found, texts) for found in findings):
        there = entries.get(one.key)
        entries[one.key] = one if there is None else there._replace(times=there.times + 1)
    return tuple(sorted(entries.values(), key=_order))


def pruned(
    entries: Iterable[Entry], now: Iterable[Entry], is_gone: Callable[[Entry], bool]
) -> tuple[list[Entry], list[Entry]]:
    """The entries that stay and those that go, given what is found ``now``.

    Of an entry that is not found, ``is_gone`` says whether it would have been. What stays has the file and
    the message of today, and no more times than it is found.
    """
    there = {one.key: one for one in now}
    kept: list[Entry] = []
    left_out: list[Entry] = []
    for known in entries:
        found = there.get(known.key)
        if found is not None:
            kept.append(found._replace(times=min(known.times, found.times)))
            if found.times < known.times:
                left_out.append(known._replace(times=known.times - found.times))
        else:
            (left_out if is_gone(known) else kept).append(known)
    return kept, left_out


def written(entries: Iterable[Entry]) -> str:
    """The text of a baseline file."""
    findings = [_as_json(one) for one in sorted(entries, key=_order)]
    return json.dumps({"format": FORMAT, "findings": findings}, indent=2, ensure_ascii=False) + "\n"


def parsed(text: str, file: str) -> tuple[Entry, ...]:
    """The entries of a baseline file. Raises RequestError where it is none."""
    try:
        data = json.loads(text.removeprefix("\ufeff"))  # some editors put a byte order mark before it
    except (ValueError, RecursionError) as error:
        if (conflict := find_conflict(text)) is not None:
            line, end_line = (text.count("\n", 0, at) + 1 for at in (conflict.first, conflict.last))
            raise RequestError(f"{file}:{line}: {conflict.message(line, end_line)}") from None
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise RequestError(
            f"{file}{where}: this is no JSON; podplan baseline create makes the file"
        ) from None
    said = data.get("format") if isinstance(data, dict) else None
    if said in _LATER:
        raise RequestError(
            f"{file}: this baseline has format {said}, and this podplan reads format {FORMAT};"
            " podplan baseline create makes the file anew"
        )
    if not isinstance(data, dict) or said != FORMAT or not isinstance(data.get("findings"), list):
        raise RequestError(
            f'{file}: this is no baseline: it wants "format": {FORMAT} and a list of "findings";'
            " podplan baseline create makes the file"
        )
    return tuple(_entry(one, number, file) for number, one in enumerate(data["findings"]))


def _entry(data: Any, number: int, file: str) -> Entry:
    texts = ("rule", "level", "path", "value", "file", "message")
    if isinstance(data, dict) and all(isinstance(data.get(key), str) for key in texts):
        named, count = data.get("object"), data.get("count", 1)
        whole = named is None or (
            isinstance(named, dict) and all(isinstance(named.get(part), str | None) for part in _OBJECT)
        )
        if whole and isinstance(count, int) and count > 0:
            parts = tuple(named.get(part) for part in _OBJECT) if named is not None else None
            level, path, value, where, message = (data[key] for key in texts[1:])
            return Entry(data["rule"], parts, level, path, value, where, message, count)
    raise RequestError(
        f"{file}: findings[{number}] is no entry of a baseline; podplan baseline create makes the file"
    )


def _as_json(one: Entry) -> dict[str, Any]:
    named = dict(zip(_OBJECT, one.named, strict=True)) if one.named is not None else None
    data = {
        "rule": one.rule,
        "object": named,
        "level": one.level,
        "path": one.path,
        "value": one.value,
        "file": one.file,
        "message": one.message,
    }
    return data | ({"count": one.times} if one.times > 1 else {})


def _order(one: Entry) -> tuple[object, ...]:
    named = tuple(part or "" for part in one.named or ())
    return (one.file, named, one.path, one.rule, one.level, one.value)


def _hash(value: Any) -> str:
    from hashlib import sha256

    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:_DIGITS]


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
