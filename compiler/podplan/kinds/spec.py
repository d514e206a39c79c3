"""The properties of a kind of job: one KindSpec per kind, in the package of the kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Diagnostic
from podplan.core.provenance import Behavior, Cursor, Path, TracedDocument
from podplan.core.typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from podplan.core.replica_groups import LoweringOptions
    from podplan.kinds.change_effects import ChangeRules
    from podplan.kinds.conversion import ConversionTarget
    from podplan.kinds.job_names import JobNames
    from podplan.kinds.status_rules import AnyStatusRules


UNKNOWN_FIELD_RULE = "SCHEMA001"
KUEUE_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


class ReplicaTypesField(NamedTuple):
    """A field of a CR with replica types.

    ``form`` is "list" (each entry has its ``type``), "map" (by type) or "entry" (the field is one replica
    type, with the name of the field).
    """

    path: Path
    form: Literal["list", "map", "entry"] = "list"


class ReplicaTypeEntry(NamedTuple):
    """A replica type of a CR: its name, the path of its entry, and the entry as written."""

    type: str
    path: Path
    data: Mapping[str, Any]


class ProposedOptions(NamedTuple):
    """The lowering options of a kind that can be derived from the objects of a real job (podplan
    cluster-diff).

    ``training_containers`` name containers. ``launch_arguments`` are the options of the launcher, and
    ``launch_flags`` its flags with the placeholders of their values. ``env`` are the variables that the
    controller sets: the first option whose condition, a path in the CR, is true, or that has none.
    ``hostfile_line`` is a line of the hostfile. ``shell_launcher`` is the launcher that a shell starts.
    ``texts`` are options whose value is a part of a text in the Pods: the first group of a regular expression
    that is searched in FIELD=TEXT.
    """

    training_containers: tuple[str, ...] = ()
    launch_arguments: str = ""
    launch_flags: Mapping[str, str] = {}
    env: tuple[tuple[Path, str], ...] = ()
    hostfile_line: str = ""
    shell_launcher: str = ""
    texts: Mapping[str, str] = {}


class PodSet(NamedTuple):
    """Equal Pods of a job as Kueue counts them: number, template, and where the number is written.

    ``min_count`` is the number that suffices where a job may run with fewer Pods; 0 if it may not.
    """

    name: str
    size: int
    template: Cursor
    count_place: Cursor
    min_count: int = 0


class QueueIntegration(NamedTuple):
    """How Kueue sees the jobs of a kind.

    ``list_pod_sets`` gets what lowering gets. ``takes_labels_of_template``: the API server copies the labels
    of the Pod template to a job without labels. ``validate`` yields what the webhook of Kueue refuses in this
    kind only. ``is_left_alone`` says which jobs Kueue does not queue, whatever their labels are.
    ``framework`` is the name of the kind in the configuration of Kueue, if it is not its group and name.
    ``queues_pods``: Kueue queues the Pods of a kind by themselves where their template names a queue.
    """

    list_pod_sets: Callable[[Cursor, References, LoweringOptions], list[PodSet]]
    takes_labels_of_template: bool = False
    validate: Callable[[Cursor], Iterator[tuple[Path, str]]] | None = None
    is_left_alone: Callable[[Cursor], bool] | None = None
    framework: str = ""
    queues_pods: bool = False


class CleanUp(NamedTuple):
    """The field below ``spec`` that controls the clean-up of replicas when the job ends.

    ``leaving_value`` is its default, by which replicas continue to run; ``ending_value`` is what to write
    instead, as text. ``other_field`` counts where ``field`` has no value, () for none.
    """

    field: tuple[str, ...]
    leaving_value: object
    ending_value: str
    other_field: tuple[str, ...] = ()


class RequiredReplicaType(NamedTuple):
    """A replica type that a job needs; ``effect`` is what happens without replicas of it.

    ``is_defaulted`` if the controller creates it when the CR does not state it.
    """

    effect: str
    is_defaulted: bool = False


class Reference(NamedTuple):
    """A document that a CR refers to, and the path in the CR where its name is written.

    An empty ``namespace`` matches any: the object has none, or the reference does not state it. A runtime is
    part of the platform: the folders of ``[runtimes]`` take precedence over the rest of the repository.
    ``other_kinds`` of the same group are those that the reference might mean if it had another kind.
    ``help_if_missing`` is where one gets a document of that name, if that is known.
    """

    group: str
    kind: str
    namespace: str
    name: str
    path: Path
    is_runtime: bool = False
    other_kinds: tuple[str, ...] = ()
    help_if_missing: str = ""


# The documents that a CR refers to, by the path in it where their names are written.
References = Mapping[Path, Cursor]


def list_no_references(_: Mapping[str, Any]) -> tuple[Reference, ...]:
    """Return no references, for kinds whose CRs are self-contained."""
    return ()


class KindSpec(NamedTuple):
    """The properties of one kind. Those that only some commands need are functions, so that others do not
    load them.

    ``plural`` is its name in URLs of the API server and in admission rules. ``option_prefix`` begins the
    names of the lowering options that only this kind has. ``dialects`` are the shapes of one kind and
    version, each with the fields of ``spec`` that not all have, such as worker or worker.cmd; a CR is in the
    first dialect that has all those that it states. Empty for a kind with one shape.
    ``superseded_dialects`` are those that ``podplan migrate`` rewrites. The value of ``training_container``
    is the name by which the controller finds the training container; None if the first container trains.
    ``training_container_by_field`` replaces it for CRs whose spec has a field, as a dialect does.
    ``traits`` are names of podplan.kinds.traits. ``launcher_container`` is the name of the container of the
    launcher replica. ``reserved_mounts`` are the paths that the controller mounts itself, that of the ssh
    keys first; the CR may replace it at ``ssh_path``. ``ssh_keys_volume`` is the volume with these keys.
    ``schedulers`` are those that ``schedule.by`` of a profile may name, the default first.
    ``starter_fields`` are the fields of a first profile of this kind that differ from those of
    podplan/starter, as YAML; ``starter_files`` are further files to write, by path, with their names there.
    ``main_replica_types`` are those whose replica decides over the job,
    ``known_replica_types`` all that the controller knows, ``single_replica_types`` those of which the
    program accepts one replica. ``managers`` are the controllers that managedBy may name, the own one first.
    ``retried_exit_codes`` are those after which the restart policy ExitCode restarts a replica, None where a
    policy states them. ``list_references`` returns the documents that a CR refers to; the loader resolves
    them. ``validate_references`` yields the diagnostics of a CR together with these documents, as related
    locations. ``explain_dropped_field`` returns what to write instead of a field that the API server drops,
    or "". ``declaration`` is the WorkloadMapping that declares the kind, None for a kind of the registry.
    """

    plural: str
    option_prefix: str
    dialects: Mapping[str, tuple[str, ...]] = {}
    training_container: Behavior | None = None
    training_container_by_field: Mapping[str, Behavior] = {}

    # The form of a CR: the file in schemas/ if its name is not the kind, by version of the operator the file
    # in schemas/versions/ with what differs there, the diagnostics that no schema can express (of the CR, in
    # a dialect or, with such a file, the version), the rule for unknown fields, and paths.
    schema: str = ""
    version_schemas: Mapping[str, str] = {}
    validate_cr: Callable[[str, Mapping[str, Any]], list[Diagnostic]] | None = None
    unknown_field_rule: str = UNKNOWN_FIELD_RULE
    explain_dropped_field: Callable[[Path], str] | None = None
    superseded_dialects: tuple[str, ...] = ()
    replica_types: tuple[ReplicaTypesField, ...] = ()
    queue_path: Path = ()
    schedulers: tuple[str, ...] = ("t9k",)
    priority_path: Path = ()
    run_policy_path: Path = ()
    run_mode_path: Path = ()
    elastic_path: Path = ()

    # Fields of a profile, and of its roles, that this kind has besides the common ones; of those that it does
    # not have, what to write instead; by required fields of a CR those of the profile, and what to write.
    profile_fields: frozenset[str] = frozenset()
    replaced_profile_fields: Mapping[str, str] = {}
    required_profile_fields: Mapping[str, tuple[str, str]] = {}
    role_fields: frozenset[str] = frozenset()
    starter_fields: Mapping[str, str] = {}
    starter_files: Mapping[str, str] = {}

    # Lowering: the labels of children with the names of their job and of their PodGroup, the API of PodGroups
    # that podplan has a schema of, the names of children, and the options that real objects reveal.
    owner_label: str = ""
    pod_group_label: str = ""
    pod_group_api_version: str = ""
    load_job_names: Callable[[Cursor, LoweringOptions], JobNames] | None = None
    proposed_options: ProposedOptions = ProposedOptions()

    # Status and changes. A kind without status rules has no ``podplan status``; without change rules every
    # change of the spec is a re-run.
    load_status_rules: Callable[[], AnyStatusRules] | None = None
    load_change_rules: Callable[[], ChangeRules] | None = None

    # What podplan migrate --to converts to this kind; None for a kind that nothing becomes.
    load_conversion_target: Callable[[], ConversionTarget] | None = None

    # Queues: how Kueue sees the jobs; None for a kind that it does not know.
    load_queue_integration: Callable[[], QueueIntegration] | None = None

    # Properties that policies select by.
    traits: frozenset[str] = frozenset()
    launcher_container: Behavior | None = None
    reserved_mounts: tuple[Behavior, ...] = ()
    ssh_path: Path = ()
    ssh_keys_volume: str = "ssh-keys"
    clean_up: CleanUp | None = None
    required_replica_types: Mapping[str, RequiredReplicaType] = {}
    main_replica_types: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    known_replica_types: tuple[str, ...] = ()
    single_replica_types: tuple[str, ...] = ()
    retried_exit_codes: range | None = None

    # Referenced documents; the kinds whose CRs refer to documents of this kind.
    referring_kinds: tuple[str, ...] = ()
    list_references: Callable[[Mapping[str, Any]], tuple[Reference, ...]] = list_no_references
    declaration: TracedDocument | None = None
    validate_references: Callable[[Cursor, References, LoweringOptions], Iterator[Diagnostic]] | None = None

    @property
    def is_job(self) -> bool:
        """Whether its CRs are jobs, and not documents that jobs refer to, such as runtimes."""
        return bool(self.load_queue_integration or self.queue_path or self.replica_types or self.declaration)


def find_other_manager(spec: KindSpec, cr: Any) -> str:
    """The controller other than the own one to which managedBy gives a CR; "" without one."""
    return "" if "manager-ignored" in spec.traits else find_named_manager(spec, cr)


def find_named_manager(spec: KindSpec, cr: Any) -> str:
    """The controller other than the own one that managedBy names; "" without one."""
    for key in (*spec.run_policy_path, "managedBy"):
        cr = cr.get(key) if isinstance(cr, dict) else None
    is_other = isinstance(cr, str) and bool(spec.managers) and cr != spec.managers[0]
    return str(cr) if is_other else ""


def iter_replica_types(spec: KindSpec, cr: Mapping[str, Any]) -> Iterator[ReplicaTypeEntry]:
    """Yield the replica types of a CR, in the order written, without those that are no mappings."""
    for field in spec.replica_types:
        value: Any = cr
        for step in field.path:
            value = value.get(step) if isinstance(value, dict) else None
        entries: list[tuple[Any, Path, Any]] = []
        if field.form == "list" and isinstance(value, list):
            entries = [
                (entry.get("type") if isinstance(entry, dict) else None, (*field.path, number), entry)
                for number, entry in enumerate(value)
            ]
        elif field.form == "map" and isinstance(value, dict):
            entries = [(key, (*field.path, key), entry) for key, entry in value.items()]
        elif field.form == "entry":
            entries = [(field.path[-1], field.path, value)]
        for type_, path, entry in entries:
            if isinstance(entry, dict):
                yield ReplicaTypeEntry(type_ if isinstance(type_, str) else "", path, entry)
