"""What policies look at: one document, with the job that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from podplan.core.provenance import Path, TracedDocument
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from podplan.kinds.spec import KindSpec, References
from podplan.kubernetes import DEFAULT_VERSION

if TYPE_CHECKING:
    from podplan.cluster.model import Cluster

T = TypeVar("T")
U = TypeVar("U")

CACHE_SIZE = 16


class LoweredJob(NamedTuple):
    """One CR with all that it lowers to.

    ``profile`` is the resolved profile it was compiled from, None for a hand-written CR. ``inventory`` is the
    ClusterInventory, None where there is none. ``version`` is the Kubernetes version that is checked against.
    A plain Kubernetes object has no ``cr``. ``gitops`` is the tool that applies it: none, argocd or flux.
    ``compared`` tells that there is a revision to compare with, and ``before`` is the CR as it was there,
    None for a new one. ``declared_kind`` is the kind of a CR that a WorkloadMapping declares. ``cluster`` is
    what objects of the repository say about the cluster, None if there are none. ``references`` are the
    documents that the CR refers to, and ``options`` those that it was lowered with.
    """

    cr: TracedDocument | None
    groups: tuple[ReplicaGroup, ...]
    profile: TracedDocument | None = None
    inventory: TracedDocument | None = None
    kubernetes_version: str = DEFAULT_VERSION
    gitops_tool: str = "none"
    has_base: bool = False
    base_cr: TracedDocument | None = None
    declared_kind: KindSpec | None = None
    cluster: Cluster | None = None
    references: References = MappingProxyType({})
    options: LoweringOptions = LoweringOptions()

    @property
    def pods(self) -> list[ReplicaGroup]:
        return _find_pods(self)


def cache_latest(function: Callable[[U], T]) -> Callable[[U], T]:
    """``function`` of a job, or the like, worked out once for all that ask for it of the same one in a row.

    The last one that was asked for is kept, and compared as an object.
    """
    latest: Any = function  # what nobody asks for
    result = cast("T", None)

    def cached_call(argument: U) -> T:
        nonlocal latest, result
        if latest is not argument:
            result = function(argument)
            latest = argument
        return result

    return cached_call


def cache_recent(function: Callable[[U], T]) -> Callable[[U], T]:
    """The same where a few take turns: of more than FEW, the one that came first is worked out anew."""
    cache: dict[int, tuple[U, T]] = {}  # each with what it is of, so that nothing else gets its id

    def cached_call(argument: U) -> T:
        cached = cache.get(id(argument))
        if cached is None:
            cached = argument, function(argument)
            if len(cache) >= CACHE_SIZE:
                del cache[next(iter(cache))]
            cache[id(argument)] = cached
        return cached[1]

    return cached_call


@cache_latest
def _find_pods(job: LoweredJob) -> list[ReplicaGroup]:
    return [group for group in job.groups if group.doc.data["kind"] == "Pod"]


class Target(NamedTuple):
    """A document that a policy is applied to; ``base`` is where the paths of its hits begin.

    ``data`` is the value at ``base``: the whole document, or one container of a Pod. ``kept`` is
    what was kept of all variants of a profile, for checks about it as a whole.
    """

    doc: TracedDocument
    job: LoweredJob
    group: ReplicaGroup | None = None
    base_path: Path = ()
    data: Any = None
    kept: Any = None


class Violation(NamedTuple):
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
    related: Iterable[tuple[TracedDocument, Path, str]] = ()
    at_key: bool = False
    doc: TracedDocument | None = None
    group: ReplicaGroup | None = None
    change: tuple[str, Path, Any] | None = None
    more_changes: tuple[tuple[str, Path, Any], ...] = ()
    safe: bool = False
    change_doc: TracedDocument | None = None
    report_at_selector: bool = False
    related_files: Iterable[str] = ()
