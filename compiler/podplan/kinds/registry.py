"""The kinds of job that podplan knows, by group, version and kind.

Each kind is a package with the modules spec (a ``KindSpec``: its properties for the rest of podplan),
compile, lower and decompile. They are imported only when a document of the kind is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType

from podplan.core.provenance import TracedDocument, root_cursor
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
    from podplan.kinds.spec import KindSpec, References


class GroupVersionKind(NamedTuple):
    """The identity of a kind; two API groups may have kinds of the same name."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified_name(self) -> str:
        """The kind as ``group/version/Kind``, which is unique."""
        return f"{self.api_version}/{self.kind}"


class Family(NamedTuple):
    """The kinds of one API group and version.

    ``packages`` are the kinds that podplan lowers. Those in ``not_lowered`` are reported as not checked.
    Those in ``unchecked`` belong to the group and are no jobs. ``owns_group`` is false for a group that
    others define kinds in too, such as batch: there an unknown kind is no mistake. ``behavior_modules``
    define what several controllers do when they create objects, and ``status_behavior_modules`` what they do
    with running jobs; the behaviors of one controller are in the module ``behaviors`` of its kind.
    ``change_rules_module`` has the change rules of the kinds in ``not_lowered``. ``operator_versions`` are
    those of the operator that a configuration may state, the default first. The kinds of a family that
    ``is_common`` are in most repositories, whatever these are about: only documents that clearly are of such
    a kind count as jobs. ``not_compiled`` are the kinds that no profile compiles to,
    ``referred`` those that CRs of other kinds refer to. ``embedding_modules`` are about kinds in
    ``unchecked`` that create jobs: JOB_FIELDS are the fields with these, and a function yields what else is
    wrong.
    """

    group: str
    version: str
    packages: Mapping[str, str]
    not_lowered: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    owns_group: bool = True
    behavior_modules: tuple[str, ...] = ()
    status_behavior_modules: tuple[str, ...] = ()
    change_rules_module: str = ""
    operator_versions: tuple[str, ...] = ()
    is_common: bool = False
    not_compiled: tuple[str, ...] = ()
    referred: tuple[str, ...] = ()
    embedding_modules: Mapping[str, str] = {}

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def job_kinds(self) -> tuple[str, ...]:
        return (*self.packages, *self.not_lowered)

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*self.job_kinds, *self.unchecked)

    def has_kind_without_profile(self, kind: GroupVersionKind) -> bool:
        """Whether a kind is of this family, and no profile becomes one."""
        return kind.api_version == self.api_version and kind.kind in self.not_compiled

    def has_job_kind(self, kind: object) -> bool:
        """Whether ``kind``, or the kind in its List, is a job kind of this family."""
        return isinstance(kind, str) and kind.removesuffix("List") in self.job_kinds


T9K = Family(
    "batch.tensorstack.dev",
    "v1beta1",
    {
        "PyTorchTrainingJob": "podplan.kinds.t9k.pytorch_training_job",
        "DeepSpeedJob": "podplan.kinds.t9k.deepspeed_job",
        "ColossalAIJob": "podplan.kinds.t9k.colossalai_job",
        "GenericJob": "podplan.kinds.t9k.generic_job",
        "TensorFlowTrainingJob": "podplan.kinds.t9k.tensorflow_training_job",
        "XGBoostTrainingJob": "podplan.kinds.t9k.xgboost_training_job",
        "MPIJob": "podplan.kinds.t9k.mpi_job",
        "BeamJob": "podplan.kinds.t9k.beam_job",
    },
    # Other Pods of theirs come from steps and references to other templates, which podplan does not load:
    # https://github.com/t9k/user-manuals/blob/fbf6b3c/src/references/api-reference/workflow.md
    unchecked=("WorkflowTemplate", "WorkflowRun", "CronWorkflowRun"),
    embedding_modules={"WorkflowTemplate": "podplan.kinds.t9k.workflow_template"},
    behavior_modules=("podplan.kinds.t9k.behaviors.jobs", "podplan.kinds.t9k.behaviors.ssh"),
    status_behavior_modules=(
        "podplan.kinds.t9k.behaviors.restarts_and_end",
        "podplan.kinds.t9k.behaviors.job_status",
    ),
    change_rules_module="podplan.kinds.t9k.behaviors.change_effects",
)
TRAINING_OPERATOR = Family(
    "kubeflow.org",
    "v1",
    {
        "PyTorchJob": "podplan.kinds.kubeflow.pytorch_job",
        "TFJob": "podplan.kinds.kubeflow.tf_job",
        "XGBoostJob": "podplan.kinds.kubeflow.xgboost_job",
        "JAXJob": "podplan.kinds.kubeflow.jax_job",
        "PaddleJob": "podplan.kinds.kubeflow.paddle_job",
        "MPIJob": "podplan.kinds.kubeflow.mpi_job",
    },
    owns_group=False,  # other projects have kinds there, such as Notebook and Profile
    behavior_modules=("podplan.kinds.kubeflow.behaviors",),
    operator_versions=("1.9",),
)
MPI_OPERATOR = Family(
    "kubeflow.org",
    "v2beta1",
    {"MPIJob": "podplan.kinds.mpi_operator.mpi_job"},
    owns_group=False,
    behavior_modules=("podplan.kinds.mpi_operator.behaviors",),
)
BATCH = Family(
    "batch",
    "v1",
    {"Job": "podplan.kinds.batch.job"},
    owns_group=False,
    is_common=True,
    embedding_modules={"CronJob": "podplan.kinds.batch.cron_job"},
    behavior_modules=("podplan.kinds.batch.behaviors",),
)
JOBSET = Family(
    "jobset.x-k8s.io",
    "v1alpha2",
    {"JobSet": "podplan.kinds.jobset.job_set"},
    unchecked=("Configuration",),  # of the controller itself
    behavior_modules=("podplan.kinds.jobset.behaviors",),
    operator_versions=("0.12", "0.11", "0.10"),
)
TRAINER = Family(
    "trainer.kubeflow.org",
    "v1alpha1",
    {
        "TrainJob": "podplan.kinds.trainer.train_job",
        "TrainingRuntime": "podplan.kinds.trainer.training_runtime",
        "ClusterTrainingRuntime": "podplan.kinds.trainer.cluster_training_runtime",
    },
    behavior_modules=("podplan.kinds.trainer.behaviors",),
    operator_versions=("2.3", "2.2", "2.1"),
    not_compiled=("TrainingRuntime", "ClusterTrainingRuntime"),
    referred=("TrainingRuntime", "ClusterTrainingRuntime"),
)
FAMILIES = (
    T9K,  # a family a line
    TRAINING_OPERATOR,
    MPI_OPERATOR,
    TRAINER,
    JOBSET,
    BATCH,
)
PACKAGES: dict[GroupVersionKind, str] = {
    GroupVersionKind(family.group, family.version, kind): package
    for family in FAMILIES
    for kind, package in family.packages.items()
}
REFERRED_KINDS = tuple(kind for family in FAMILIES for kind in family.referred)
DECLARED_PACKAGE = (
    "podplan.kinds.workload_mapping"  # the package of all kinds that a WorkloadMapping declares
)
_JOB_KINDS = [kind for family in FAMILIES for kind in family.job_kinds]
# The kinds that podplan lowers, by the name that users write: the bare kind if only one family has it.
KINDS_BY_NAME: dict[str, GroupVersionKind] = {
    kind.kind if _JOB_KINDS.count(kind.kind) == 1 else kind.qualified_name: kind for kind in PACKAGES
}
KIND_NAMES = tuple(KINDS_BY_NAME)
# The kinds that a profile can become, by the same names.
COMPILED_KINDS = {
    name: kind
    for name, kind in KINDS_BY_NAME.items()
    if not any(family.has_kind_without_profile(kind) for family in FAMILIES)
}
# The versions of its operators that a configuration may state, by API group.
OPERATOR_VERSIONS = {
    group: tuple(
        version for family in FAMILIES if family.group == group for version in family.operator_versions
    )
    for group in dict.fromkeys(family.group for family in FAMILIES)
}
_NAME_BY_KIND = {kind: name for name, kind in KINDS_BY_NAME.items()}
_BARE_NAMES = frozenset(kind for family in FAMILIES if not family.is_common for kind in family.packages)


def name_of(kind: GroupVersionKind) -> str:
    """Return the name of a kind as users write it: ``group/version/Kind`` if the bare one is ambiguous."""
    return _NAME_BY_KIND[kind]


def find_family(api_version: object, kind: object = None) -> Family | None:
    """Return the family of an apiVersion, also if its version is wrong or missing.

    Of several versions of a group, the one that has ``kind``.
    """
    group = api_version.partition("/")[0] if isinstance(api_version, str) else ""
    families = [family for family in FAMILIES if family.group == group]
    return min(
        families,
        key=lambda family: (not family.has_job_kind(kind), family.api_version != api_version),
        default=None,
    )


def list_families_with(kind: object) -> list[Family]:
    """Return the families that have a job of this kind, or of the kind in this List."""
    return [family for family in FAMILIES if family.has_job_kind(kind)]


def family_of(data: Mapping[str, Any]) -> Family:
    """Return the family of a CR: by its group, else by its kind and the most similar group, else the
    first."""
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if family := find_family(api_version, kind):
        return family
    candidates = list_families_with(kind) or [FAMILIES[0]]
    if len(candidates) > 1 and isinstance(api_version, str):
        from podplan.core.suggestions import suggest_name

        nearest = suggest_name(api_version, [family.api_version for family in candidates])
        candidates.sort(key=lambda family: family.api_version != nearest)
    return candidates[0]


def resource_label(api_version: object, kind: object) -> str:
    """Return the kind of an object for labels: with its group if several groups have it."""
    group = api_version.rpartition("/")[0] if isinstance(api_version, str) else ""
    groups = {family.group for family in list_families_with(kind)}
    return f"{kind}.{group}" if len(groups) > 1 and group in groups else str(kind)


def find_kind(api_version: object, kind: object) -> GroupVersionKind | None:
    """Return the kind of a CR that podplan lowers; None for any other document."""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    group, _, version = api_version.rpartition("/")
    found = GroupVersionKind(group, version, kind)
    return found if found in PACKAGES else None


def is_kind_name(kind: object) -> bool:
    """Whether a family that is not common has a kind of this name that podplan lowers."""
    return isinstance(kind, str) and kind in _BARE_NAMES


def iter_kinds_named(name: object) -> Iterator[GroupVersionKind]:
    """Yield the kinds that a name means: those of all groups for a bare kind, one for
    ``group/version/Kind``."""
    return (known for known in PACKAGES if name in (known.kind, known.qualified_name))


def load_module(kind: GroupVersionKind, part: str) -> ModuleType:
    """Import the module ``part`` (spec, compile, decompile or lower) of a kind.

    Raises KeyError: if it is unknown.
    """
    return import_module(f"{PACKAGES[kind]}.{part}")


@cache
def load_spec(kind: GroupVersionKind) -> KindSpec:
    """Return the KindSpec of a kind; cached. Raises KeyError: if it is unknown."""
    spec: KindSpec = load_module(kind, "spec").SPEC
    return spec


def load_embedding_module(api_version: object, kind: object) -> ModuleType | None:
    """Import the module about a kind that creates jobs; None for other kinds."""
    family = find_family(api_version)
    name = family.embedding_modules.get(kind) if family is not None and isinstance(kind, str) else None
    return import_module(name) if name is not None else None


def lower_cr(cr: TracedDocument, references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a CR that fits its schema to the objects that its controller creates, as replica groups.

    ``references`` are the documents that it refers to; () is the WorkloadMapping of a declared kind.

    Raises KeyError: for a CR of an unknown kind.
    """
    kind = find_kind(cr.data["apiVersion"], cr.data["kind"])
    if kind is None and () not in references:
        raise KeyError(cr.data["kind"])
    if kind is not None:
        options = options._replace(kind=name_of(kind), group=kind.group)
    package = PACKAGES[kind] if kind is not None else DECLARED_PACKAGE
    lowered: list[ReplicaGroup] = import_module(f"{package}.lower").lower(
        root_cursor(cr), references, options
    )
    return lowered
