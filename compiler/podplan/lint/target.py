"""What policies look at: one document, with the job that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from podplan.core.provenance import Doc, Path
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple, TypeVar, cast
from podplan.kubernetes import DEFAULT_VERSION

T = TypeVar("T")
U = TypeVar("U")

FEW = 16


class Job(NamedTuple):
    """One CR with all that it lowers to.

    ``profile`` is the resolved profile it was compiled from, None for a hand-written CR. ``inventory`` is the
    ClusterInventory, None where there is none. ``version`` is the Kubernetes version that is checked against.
    A plain Kubernetes object has no ``cr``. ``gitops`` is the tool that applies it: none, argocd or flux.
    ``compared`` tells that there is a revision to compare with, and ``before`` is the CR as it was there,
    None for a new one.
    """

    cr: Doc | None
    groups: tuple[Group, ...]
    profile: Doc | None = None
    inventory: Doc | None = None
    version: str = DEFAULT_VERSION
    gitops: str = "none"
    compared: bool = False
    before: Doc | None = None

    @property
    def pods(self) -> list[Group]:
        return _pods(self)


def for_one(function: Callable[[U], T]) -> Callable[[U], T]:
    """``function`` of a job, or the like, worked out once for all that ask for it of the same one in a row.

    The last one that was asked for is kept, and compared as an object.
    """
    latest: Any = function  # what nobody asks for
    result = cast("T", None)

    def remembered(one: U) -> T:
        nonlocal latest, result
        if latest is not one:
            result = function(one)
            latest = one
        return result

    return remembered


def for_few(function: Callable[[U], T]) -> Callable[[U], T]:
    """The same where a few take turns: of more than FEW, the one that came first is worked out anew."""
    kept: dict[int, tuple[U, T]] = {}  # each with what it is of, so that nothing else gets its id

    def remembered(one: U) -> T:
        known = kept.get(id(one))
        if known is None:
            known = one, function(one)
            if len(kept) >= FEW:
                del kept[next(iter(kept))]
            kept[id(one)] = known
        return known[1]

    return remembered


@for_one
def _pods(job: Job) -> list[Group]:
    return [group for group in job.groups if group.doc.data["kind"] == "Pod"]


class Subject(NamedTuple):
    """A document that a policy is applied to; ``base`` is where the paths of its hits begin.

    ``data`` is the value at ``base``: the whole document, or one container of a Pod. ``kept`` is
    what was kept of all variants of a profile, for checks about it as a whole.
    """

    doc: Doc
    job: Job
    group: Group | None = None
    base: Path = ()
    data: Any = None
    kept: Any = None


class Hit(NamedTuple):
    """Where a document breaks a policy: a path below the subject's base, and values for the message.

    ``related`` are further places: a document, a path in it and what is to be seen there. ``doc`` is given
    where the place is in another document of the job than the subject's own. ``by_choice`` as in Problem.
    ``change`` would repair it, where the policy has a fix: the op of a Change, a path from the root of the
    same document, or of ``change_in``, and a value; ``more_changes`` are made with it. It is ``safe`` if the
    job does the same afterwards, or did not run before. ``about`` are the files of further jobs that it is
    about, where not all of them are among the related places.
    """

    path: Path
    values: Mapping[str, Any] = {}
    related: Iterable[tuple[Doc, Path, str]] = ()
    on_key: bool = False
    doc: Doc | None = None
    group: Group | None = None
    change: tuple[str, Path, Any] | None = None
    more_changes: tuple[tuple[str, Path, Any], ...] = ()
    safe: bool = False
    change_in: Doc | None = None
    by_choice: bool = False
    about: Iterable[str] = ()
