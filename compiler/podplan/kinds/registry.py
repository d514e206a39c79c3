"""The kinds of job that podplan knows, by group, version and kind: one line each.

Each kind is a package with the modules ``spec`` (a ``KindSpec``: what the rest of podplan may ask about it),
``compile``, ``lower`` and ``decompile``. They are imported only when a document of the kind is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import ModuleType

from podplan.core.provenance import TracedDocument, root_cursor
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
    from podplan.kinds.spec import KindSpec, References


class GroupVersionKind(NamedTuple):
    """What identifies a kind: two API groups may have kinds of one name."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class Family(NamedTuple):
    """The kinds of one API group and version.

    ``packages`` are the kinds that podplan lowers. Of those in ``not_lowered`` it says that they are not
    checked. Those in ``unchecked`` belong to the group and are no jobs.
    """

    group: str
    version: str
    packages: Mapping[str, str]
    not_lowered: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*self.packages, *self.not_lowered, *self.unchecked)


T9K = Family(
    "batch.tensorstack.dev",
    "v1beta1",
    {
        "PyTorchTrainingJob": "podplan.kinds.t9k.pytorch_training_job",
        "DeepSpeedJob": "podplan.kinds.t9k.deepspeed_job",
        "ColossalAIJob": "podplan.kinds.t9k.colossalai_job",
        "GenericJob": "podplan.kinds.t9k.generic_job",
    },
    not_lowered=("MPIJob", "TensorFlowTrainingJob", "XGBoostTrainingJob", "BeamJob"),
    # Their Pods come from steps and references to other templates, which podplan does not load:
    # https://github.com/t9k/user-manuals/blob/fbf6b3c/src/references/api-reference/workflow.md
    unchecked=("WorkflowTemplate", "WorkflowRun", "CronWorkflowRun"),
)
FAMILIES = (T9K,)
PACKAGES: dict[GroupVersionKind, str] = {
    GroupVersionKind(family.group, family.version, kind): package
    for family in FAMILIES
    for kind, package in family.packages.items()
}
DECLARED_PACKAGE = "podplan.kinds.declared"  # of all kinds that a WorkloadMapping declares
# The names of the kinds that podplan lowers, for messages.
KIND_NAMES = tuple(kind.kind for kind in PACKAGES)


def find_family(api_version: object) -> Family | None:
    """The family of an apiVersion, also where its version is wrong or missing."""
    group = api_version.partition("/")[0] if isinstance(api_version, str) else ""
    return next((family for family in FAMILIES if family.group == group), None)


def family_of(data: Mapping[str, Any]) -> Family:
    """The family that a CR belongs to: by its group, else by its kind, else the first."""
    kind = data.get("kind")
    named = (family for family in FAMILIES if isinstance(kind, str) and kind in family.packages)
    return find_family(data.get("apiVersion")) or next(named, FAMILIES[0])


def find_kind(api_version: object, kind: object) -> GroupVersionKind | None:
    """The kind of a CR that podplan lowers; None for any other document."""
    return next(
        (known for known in PACKAGES if known.kind == kind and known.api_version == api_version),
        None,
    )


def iter_kinds_named(kind: object) -> Iterator[GroupVersionKind]:
    """The kinds of all groups that have this name."""
    return (known for known in PACKAGES if known.kind == kind)


def load_module(kind: GroupVersionKind, part: str) -> ModuleType:
    """The module ``part`` (spec, compile, decompile or lower) of a kind; KeyError for an unknown kind."""
    return import_module(f"{PACKAGES[kind]}.{part}")


def load_spec(kind: GroupVersionKind) -> KindSpec:
    """What the rest of podplan may ask about a kind; KeyError for an unknown kind."""
    spec: KindSpec = load_module(kind, "spec").SPEC
    return spec


def lower_cr(cr: TracedDocument, references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """The objects that the controller creates for a CR that satisfies its schema, folded.

    ``references`` are the documents that it refers to; at () it has the WorkloadMapping of a declared kind.
    Raises KeyError for a CR of an unknown kind.
    """
    kind = find_kind(cr.data["apiVersion"], cr.data["kind"])
    if kind is None and () not in references:
        raise KeyError(cr.data["kind"])
    package = PACKAGES[kind] if kind is not None else DECLARED_PACKAGE
    lowered: list[ReplicaGroup] = import_module(f"{package}.lower").lower(
        root_cursor(cr), references, options
    )
    return lowered
