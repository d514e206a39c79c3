"""Which documents a policy looks at: by level, by kind, and by the traits of the job's kind."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.kinds.registry import PACKAGES, GroupVersionKind, load_spec, name_of

if TYPE_CHECKING:
    from podplan.kinds.spec import KindSpec

# The levels of policies that look at the CR, those about all jobs among them.
CR_LEVELS = ("cr", "job", "set")


class PolicyScope(NamedTuple):
    """Which documents a policy looks at; see schemas/Policy.json.

    ``kinds`` are those of the documents, each as Kind, group/Kind or group/version/Kind. The kind of the
    job has all traits ``needs`` and none of ``without``, whatever the level.
    """

    level: str
    kinds: tuple[str, ...] = ()
    containers: str = ""
    needs: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()


def parse_scope(data: Mapping[str, Any]) -> PolicyScope:
    """The scope that a policy file states."""
    traits = data.get("traits", {})
    return PolicyScope(
        data["level"],
        tuple(data.get("kinds", ())),
        data.get("containers", ""),
        frozenset(traits.get("needs", ())),
        frozenset(traits.get("without", ())),
    )


def matches_kind(scope: PolicyScope, data: Mapping[str, Any]) -> bool:
    """Whether the kind of a document is one of the scope."""
    return not scope.kinds or any(names_kind(name, data) for name in scope.kinds)


def names_kind(name: str, data: Mapping[str, Any]) -> bool:
    """Whether a name, alone or after a group or an apiVersion, is that of a document's kind."""
    prefix, _, kind = name.rpartition("/")
    api_version = str(data.get("apiVersion", ""))
    return kind == data.get("kind") and prefix in ("", api_version, api_version.rpartition("/")[0])


def matches_traits(scope: PolicyScope, kind_spec: KindSpec | None) -> bool:
    """Whether a kind has the traits of the scope; a job without a kind has none."""
    if not scope.needs and not scope.without:
        return True
    return kind_spec is not None and scope.needs <= kind_spec.traits and not scope.without & kind_spec.traits


def has_traits_of(scope: PolicyScope, kind: GroupVersionKind) -> bool:
    """Whether a kind of the registry has the traits of the scope."""
    return matches_traits(scope, load_spec(kind))


def find_unwanted_traits(scope: PolicyScope, kind: GroupVersionKind) -> list[str]:
    """The traits of a kind that a scope excludes."""
    return sorted(scope.without & load_spec(kind).traits)


def ignore_traits(scope: PolicyScope) -> PolicyScope:
    """The scope for jobs whose kind has the traits."""
    return scope._replace(needs=frozenset(), without=frozenset())


def is_kind_or_trait(name: str, cr: Mapping[str, Any], kind_spec: KindSpec | None) -> bool:
    """Whether a name is that of the kind of a CR, or of a trait of that kind."""
    return names_kind(name, cr) or (kind_spec is not None and name in kind_spec.traits)


def matches_job_kind(scope: PolicyScope, kind: GroupVersionKind) -> bool:
    """Whether a policy looks at jobs of a kind, or at something that they lower to."""
    data = {"apiVersion": kind.api_version, "kind": kind.kind}
    return has_traits_of(scope, kind) and (scope.level not in CR_LEVELS or matches_kind(scope, data))


def list_help_by_kind(scope: PolicyScope, help_for: Mapping[str, str]) -> dict[str, str]:
    """The texts of helpFor by the names of kinds: of each kind the first that is for it or a trait of it."""
    from podplan.kinds.traits import TRAITS

    texts: dict[str, str] = {}
    for name, text in help_for.items():
        kinds = (
            kind for kind in PACKAGES if name in load_spec(kind).traits and matches_job_kind(scope, kind)
        )
        for kind_name in [name_of(kind) for kind in kinds] or ([] if name in TRAITS else [name]):
            texts.setdefault(kind_name, text)
    return texts


def list_kind_names(scope: PolicyScope) -> list[str]:
    """The names of the kinds that a policy looks at; none where it looks at all kinds."""
    if scope.level in CR_LEVELS and (scope.needs or scope.without):
        kinds = [kind for kind in PACKAGES if matches_job_kind(scope, kind)]
        if len(kinds) == len(PACKAGES):
            return []  # it excludes declared kinds only
        names = [name_of(kind) for kind in kinds]
    else:
        names = [name.rpartition("/")[2] for name in scope.kinds]
    return list(dict.fromkeys(names))
