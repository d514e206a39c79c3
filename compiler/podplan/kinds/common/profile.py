"""A resolved profile as the kinds read it: roles, inherited fields, and fields that the kind does not use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Cursor, attribute_to, compute_traced
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.core.wording import add_article, join_words
from podplan.kinds.common import behaviors

if TYPE_CHECKING:
    from podplan.kinds.spec import KindSpec

_TEMPLATE_FIELDS = frozenset(
    ("image", "run", "env", "data", "shm", "workingDir", "ports", "container", "pod")
)
_SHARED_FIELDS = _TEMPLATE_FIELDS | {"replicas", "hardware", "resources", "debug", "resume"}
# Fields with the same meaning in every kind, of the spec and of a role; each kind adds its own.
COMMON_FIELDS = _SHARED_FIELDS | {"job", "roles", "schedule", "mode", "override"}
COMMON_ROLE_FIELDS = _SHARED_FIELDS | {"name"}
# Fields that earlier steps have consumed.
RESOLVED_FIELDS = frozenset(("extends", "params", "environments", "matrix", "naming"))


class ProfileRole(NamedTuple):
    """One replica type of a profile.

    ``entry`` is its entry under ``roles``, or a cursor at a missing field; ``spec`` is the spec of the
    profile, from which it inherits. ``inherited_fields`` limits the inherited fields; None allows all.
    """

    name: str
    entry: Cursor
    spec: Cursor
    inherited_fields: frozenset[str] | None = None

    def get_field(self, field: str) -> Cursor:
        """Return the field of the role, else of the spec if the role inherits it."""
        own_value = self.entry.get(field)
        return self.spec.get(field) if not own_value.exists and self.inherits_field(field) else own_value

    def inherits_field(self, field: str) -> bool:
        """Whether the role inherits a field from the spec: it does not if its own value is null."""
        is_null = isinstance(self.entry.value, dict) and self.entry.value.get(field, "") is None
        return not is_null and (self.inherited_fields is None or field in self.inherited_fields)

    def get_layers(self, field: str) -> tuple[Cursor, ...]:
        """Return the values of the spec and of the role, for fields that are merged."""
        own_value = self.entry.get(field)
        return (self.spec.get(field), own_value) if self.inherits_field(field) else (own_value,)

    @property
    def replica_type(self) -> Any:
        """The replica type, as a part of a traced tree."""
        name_cursor = self.entry.get("name")
        if not name_cursor.exists:
            return attribute_to((behaviors.ROLE_NAME, self.spec.get("job")), self.name)
        return name_cursor if name_cursor.value == self.name else attribute_to(name_cursor, self.name)

    @property
    def origin_cursor(self) -> Cursor:
        """Where a person would edit the role: its entry, else the spec."""
        return self.entry if self.entry.exists else self.spec


def parse_free_roles(spec: Cursor) -> list[ProfileRole]:
    """Return the roles of a kind with free replica types: the written ones, else one called worker."""
    entries = [entry for entry in spec.get("roles").entries() if entry.exists]
    if not entries:
        return [ProfileRole("worker", spec.get("roles", 0), spec)]
    return [ProfileRole(format_scalar(entry.get("name").value_or("")), entry, spec) for entry in entries]


def parse_fixed_roles(
    spec: Cursor, names: tuple[str, ...], diagnostics: list[Diagnostic]
) -> list[ProfileRole]:
    """Return the roles ``names`` of a kind, in that order, or in the written order if all are written."""
    written_entries: dict[str, Cursor] = {}
    for entry in spec.get("roles").entries():
        name = entry.get("name").value
        if name in names:
            written_entries[name] = entry
        elif entry.exists:
            diagnostics.append(_diagnose_unknown_role(entry, names, str(spec.get("job").value)))
    absent_entry = spec.get("roles", len(spec.get("roles").entries()))
    order = tuple(written_entries) if len(written_entries) == len(names) else names
    return [ProfileRole(name, written_entries.get(name, absent_entry), spec) for name in order]


def _diagnose_unknown_role(entry: Cursor, names: tuple[str, ...], job_kind: str) -> Diagnostic:
    name = str(entry.get("name").value)
    hint = suggest_phrase(name, names)
    return Diagnostic(
        "PROF023",
        f"{add_article(job_kind)} has no role {format_value(name)}, only {join_words(list(names))}{hint}",
        (*entry.path, "name"),
    )


def find_unused_fields(
    spec: Cursor,
    kind_spec: KindSpec,
    find_kinds_with_field: Callable[[str, bool], Iterable[str]],
) -> list[Diagnostic]:
    """Return a diagnostic for each field that the kind does not use, with what to write instead.

    ``find_kinds_with_field(field, in_role)`` returns the kinds that do.
    """
    job_kind = str(spec.get("job").value)
    known_fields = COMMON_FIELDS | RESOLVED_FIELDS | kind_spec.profile_fields
    diagnostics = [
        _diagnose_replaced_field(place, field, job_kind, kind_spec.replaced_profile_fields[field])
        if field in kind_spec.replaced_profile_fields
        else _diagnose_unused_field(place, field, job_kind, find_kinds_with_field(field, False))
        for field, place in spec.fields().items()
        if field not in known_fields
    ]
    for entry in spec.get("roles").entries():
        diagnostics += [
            _diagnose_unused_field(place, field, job_kind, find_kinds_with_field(field, True))
            for field, place in entry.fields().items()
            if field not in COMMON_ROLE_FIELDS | kind_spec.role_fields
        ]
    return [problem for problem in diagnostics if problem is not None]


def reject_roles(spec: Cursor, remedy: str) -> list[Diagnostic]:
    """Return a diagnostic for ``roles``, for kinds with one Pod template."""
    if not spec.get("roles").exists:
        return []
    message = f"a {spec.get('job').value} has one Pod template and no roles; {remedy}"
    return [Diagnostic("PROF020", message, spec.get("roles").path, on_key=True)]


def find_repeated_names(spec: Cursor) -> list[Diagnostic]:
    """Return a diagnostic for each entry of roles, data or ports whose name is not unique in its list."""
    roles = spec.get("roles").entries()
    lists = [
        spec.get("roles"),
        *(where.get(field) for where in (spec, *roles) for field in ("data", "ports")),
    ]
    return [problem for listed in lists for problem in _iter_repeated_names(listed)]


def _iter_repeated_names(list_cursor: Cursor) -> Iterator[Diagnostic]:
    first_by_name: dict[str, Cursor] = {}
    for entry in list_cursor.entries():
        name = entry.get("name")
        if not isinstance(name.value, str):
            continue
        if name.value in first_by_name:
            reason = f"{list_cursor.path[-1]} already has an entry called {format_value(name.value)}"
            other_entry = (first_by_name[name.value].path, "the other one")
            yield Diagnostic(
                "PROF021", f"{reason}; give this one another name", name.path, related=(other_entry,)
            )
        first_by_name.setdefault(name.value, name)


def _diagnose_replaced_field(field_cursor: Cursor, field: str, job_kind: str, remedy: str) -> Diagnostic:
    message = f"{add_article(job_kind)} has no field for {field}; {remedy}"
    return Diagnostic("PROF020", message, field_cursor.path, on_key=True)


def _diagnose_unused_field(
    field_cursor: Cursor, field: str, job_kind: str, kind_names: Iterable[str]
) -> Diagnostic | None:
    """Build the diagnostic, or None for a field that no kind has: the schema of the profile reports it."""
    kinds_with_field = list(kind_names)
    if not kinds_with_field:
        return None
    message = (
        f"{add_article(job_kind)} has no use for {field}; {join_words(kinds_with_field)}"
        f" {'has' if len(kinds_with_field) == 1 else 'have'} it"
    )
    return Diagnostic("PROF020", message, field_cursor.path, on_key=True)


def require_choice(
    field_cursor: Cursor, choices: tuple[str, ...], spec: Cursor, diagnostics: list[Diagnostic]
) -> Cursor | None:
    """Return ``field_cursor``, or None with a diagnostic if its value is not one of ``choices``."""
    if not field_cursor.exists or field_cursor.value in choices:
        return field_cursor
    choice_text = join_words(list(choices), "or")
    message = (
        f"{field_cursor.path[-1]} of a {spec.get('job').value} is {choice_text}, not"
        f" {format_value(field_cursor.value)}"
    )
    diagnostics.append(Diagnostic("PROF024", message, field_cursor.path))
    return None


def format_scalar(value: Any) -> str:
    """Format a scalar for args and env: true, 90, 0.0001."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def stringify_scalar(cursor: Cursor) -> Any:
    """Return the scalar at ``cursor`` as a string."""
    if isinstance(cursor.value, int | float):
        return compute_traced(format_scalar, cursor)
    return cursor


def stringify_list(cursor: Cursor) -> Any:
    """Return the list at ``cursor`` with its scalars as strings."""
    entries = cursor.entries()
    if all(isinstance(entry.value, str) for entry in entries):
        return cursor
    return attribute_to(cursor, [stringify_scalar(entry) for entry in entries])


def prepend_words(words: list[Any], cursor: Cursor) -> Any:
    """Return ``words`` followed by the list at ``cursor``, its scalars as strings."""
    return attribute_to(cursor, [*words, *(stringify_scalar(entry) for entry in cursor.entries())])


def format_value(value: Any) -> str:
    """Format a value for messages: quoted and truncated."""
    from podplan.kubernetes import names

    return names.format_value(value)
