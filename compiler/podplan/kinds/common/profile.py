"""A resolved profile as the kinds read it: roles, what a role inherits, what a kind has no use for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podplan.core.findings import Problem
from podplan.core.provenance import Cursor, at, computed
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.t9k import behaviors

_TEMPLATE_FIELDS = frozenset(
    ("image", "run", "env", "data", "shm", "workingDir", "ports", "container", "pod")
)
_SHARED_FIELDS = _TEMPLATE_FIELDS | {"replicas", "hardware", "resources", "debug", "resume"}
# Fields that mean the same in every kind, of the spec and of a role. A kind adds its own.
COMMON_FIELDS = _SHARED_FIELDS | {"job", "roles", "schedule", "mode", "override"}
COMMON_ROLE_FIELDS = _SHARED_FIELDS | {"name"}
# What the steps before have used up.
RESOLVED_FIELDS = frozenset(("extends", "params", "environments", "matrix", "naming"))


class Role(NamedTuple):
    """One replica type of a profile.

    ``where`` is its entry under ``roles``, or a place where nothing is written; ``spec`` is the spec of the
    profile, from which it takes what it does not say itself. ``inherits`` limits that, None for everything.
    """

    name: str
    where: Cursor
    spec: Cursor
    inherits: frozenset[str] | None = None

    def get(self, field: str) -> Cursor:
        """What the role says, else what the spec says where the role inherits it."""
        own = self.where.get(field)
        return self.spec.get(field) if not own.exists and self.takes(field) else own

    def takes(self, field: str) -> bool:
        """Whether the role has a field from the spec: not where it says null."""
        declined = isinstance(self.where.value, dict) and self.where.value.get(field, "") is None
        return not declined and (self.inherits is None or field in self.inherits)

    def both(self, field: str) -> tuple[Cursor, ...]:
        """What the spec says and what the role says, for fields that are laid over each other."""
        own = self.where.get(field)
        return (self.spec.get(field), own) if self.takes(field) else (own,)

    @property
    def type(self) -> Any:
        """The replica type, as a part of a marked tree."""
        written = self.where.get("name")
        if not written.exists:
            return at((behaviors.ROLE_NAME, self.spec.get("job")), self.name)
        return written if written.value == self.name else at(written, self.name)

    @property
    def why(self) -> Cursor:
        """Where a person would edit the role: its entry, else the spec."""
        return self.where if self.where.exists else self.spec


def open_roles(spec: Cursor) -> list[Role]:
    """The roles of a kind whose replica types are free: those written, else one called worker."""
    entries = [entry for entry in spec.get("roles").entries() if entry.exists]
    if not entries:
        return [Role("worker", spec.get("roles", 0), spec)]
    return [Role(text(entry.get("name").otherwise("")), entry, spec) for entry in entries]


def fixed_roles(spec: Cursor, names: tuple[str, ...], problems: list[Problem]) -> list[Role]:
    """The roles ``names`` of a kind, in that order; in the order written where all are."""
    written: dict[str, Cursor] = {}
    for entry in spec.get("roles").entries():
        name = entry.get("name").value
        if name in names:
            written[name] = entry
        elif entry.exists:
            problems.append(_unknown_role(entry, names, str(spec.get("job").value)))
    absent = spec.get("roles", len(spec.get("roles").entries()))
    order = tuple(written) if len(written) == len(names) else names
    return [Role(name, written.get(name, absent), spec) for name in order]


def _unknown_role(entry: Cursor, names: tuple[str, ...], job: str) -> Problem:
    name = str(entry.get("name").value)
    hint = did_you_mean(name, names)
    return Problem(
        "PROF023",
        f"a {job} has no role {shown(name)}, only {enumeration(list(names))}{hint}",
        (*entry.path, "name"),
    )


def unused_fields(
    spec: Cursor,
    fields: frozenset[str],
    role_fields: frozenset[str],
    users: Callable[[str, bool], Iterable[str]],
) -> list[Problem]:
    """A problem for each field that the kind has no use for; ``users(field, in_role)`` are kinds that do."""
    job = str(spec.get("job").value)
    known = COMMON_FIELDS | RESOLVED_FIELDS | fields
    found = [
        _unused(place, field, job, users(field, False))
        for field, place in spec.fields().items()
        if field not in known
    ]
    for entry in spec.get("roles").entries():
        found += [
            _unused(place, field, job, users(field, True))
            for field, place in entry.fields().items()
            if field not in COMMON_ROLE_FIELDS | role_fields
        ]
    return [problem for problem in found if problem is not None]


def repeated_names(spec: Cursor) -> list[Problem]:
    """A problem for each entry of roles, data or ports whose name another one of the same list has."""
    roles = spec.get("roles").entries()
    lists = [
        spec.get("roles"),
        *(where.get(field) for where in (spec, *roles) for field in ("data", "ports")),
    ]
    return [problem for listed in lists for problem in _repeated(listed)]


def _repeated(listed: Cursor) -> Iterator[Problem]:
    first: dict[str, Cursor] = {}
    for entry in listed.entries():
        name = entry.get("name")
        if not isinstance(name.value, str):
            continue
        if name.value in first:
            said = f"{listed.path[-1]} already has an entry called {shown(name.value)}"
            other = (first[name.value].path, "the other one")
            yield Problem("PROF021", f"{said}; give this one another name", name.path, related=(other,))
        first.setdefault(name.value, name)


def _unused(place: Cursor, field: str, job: str, users: Iterable[str]) -> Problem | None:
    """None for a field that no kind has: its form is at fault, and the schema of the profile says so."""
    having = list(users)
    if not having:
        return None
    message = (
        f"a {job} has no use for {field}; {enumeration(having)} {'has' if len(having) == 1 else 'have'} it"
    )
    return Problem("PROF020", message, place.path, on_key=True)


def enumeration(words: list[str], last: str = "and") -> str:
    """``a, b and c``"""
    return f" {last} ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def text(value: Any) -> str:
    """A scalar as the string that stands for it in args and env: true, 90, 0.0001."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def as_text(cursor: Cursor) -> Any:
    """The scalar at ``cursor`` as a string."""
    if isinstance(cursor.value, int | float):
        return computed(text, cursor)
    return cursor


def strings(cursor: Cursor) -> Any:
    """The list at ``cursor`` with its scalars as strings."""
    entries = cursor.entries()
    if all(isinstance(entry.value, str) for entry in entries):
        return cursor
    return at(cursor, [as_text(entry) for entry in entries])


def with_first(words: list[Any], cursor: Cursor) -> Any:
    """``words`` followed by the list at ``cursor``, its scalars as strings."""
    return at(cursor, [*words, *(as_text(entry) for entry in cursor.entries())])


def shown(value: Any) -> str:
    """A value as messages show it: quoted, and not too long."""
    from podplan.kubernetes import names

    return names.shown(value)
