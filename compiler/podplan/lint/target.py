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
    """A CR with all objects that it lowers to, or a plain Kubernetes object, which has no ``cr``.

    ``profile`` is the resolved profile it was compiled from, None for a hand-written CR. ``inventory`` is the
    ClusterInventory, if there is one. ``kubernetes_version`` is the version to check against. ``gitops_tool``
    is the tool that applies the CR: none, argocd or flux. ``has_base`` if the run compares with a base, and
    ``base_cr`` is the CR in it, None for a new one. ``declared_kind`` is the kind of a CR that a
    WorkloadMapping declares. ``cluster`` is what objects of the repository state about the cluster, None if
    there are none. ``references`` are the documents that the CR refers to, and ``options`` the lowering
    options.
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
    """Cache the latest result of ``function``, for callers that pass the same object several times in a row.

    Arguments are compared by identity.
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
    """As ``cache_latest``, for callers that alternate between a few objects; removes the oldest of
    ``CACHE_SIZE``."""
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
    """A document that a policy is applied to; paths of violations begin at ``base_path``.

    ``data`` is the value at ``base_path``: the whole document, or one container of a Pod. ``kept`` is what
    the keeper of a check has of all variants of a profile, for checks about the profile as a whole.
    """

    doc: TracedDocument
    job: LoweredJob
    group: ReplicaGroup | None = None
    base_path: Path = ()
    data: Any = None
    kept: Any = None


class Violation(NamedTuple):
    """Where a document breaks a policy: a path below that of the target, and values for the message.

    ``related`` are related locations: a document, a path in it and a label. ``at_key`` reports the violation
    at the key instead of the value. ``doc``, with its ``group``, is the document of ``path``, if it is
    another one of the job than the target's. ``report_at_selector`` is as in Diagnostic.

    ``change`` repairs it, if the policy has a fix: the operation, a path from the top of the same document,
    or of ``change_doc``, and a value; ``more_changes`` are made with it. The fix is ``safe`` if the job does
    the same after it, or did not run before. ``related_files`` are files of further jobs that it is about, if
    not all of them are among the related locations.
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
