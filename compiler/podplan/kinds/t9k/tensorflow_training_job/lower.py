"""Lowers TensorFlowTrainingJob: TF_CONFIG, a Service for each replica, TensorBoard."""

from __future__ import annotations

from podplan.core.indexed_text import Indexed, Listing, RepeatedLine
from podplan.core.provenance import Cursor, Traced, attribute_to
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.common.name_patterns import build_name_words, fill_pattern
from podplan.kinds.spec import References
from podplan.kinds.t9k.job import JobContext, ReplicaType
from podplan.kinds.t9k.services import NAMING_BEHAVIORS, build_host_name
from podplan.kinds.t9k.tensorboard import build_tensorboards
from podplan.kinds.t9k.tensorflow_training_job import behaviors as kind_behaviors
from podplan.kinds.t9k.training_job import lower_training_job
from podplan.kinds.t9k.training_pods import TrainingBehaviors

MASTER_TYPES = ("chief", "worker")
_Pieces = list[str | RepeatedLine | Indexed]
_BEHAVIORS = TrainingBehaviors(
    container=kind_behaviors.TENSORFLOW_TRAINING_CONTAINER,
    port=kind_behaviors.TENSORFLOW_PORT,
    port_name=kind_behaviors.TENSORFLOW_PORT_NAME,
    port_by_name=kind_behaviors.TENSORFLOW_PORT_BY_NAME,
    declares_port=kind_behaviors.TENSORFLOW_DECLARES_PORT,
    env_order=kind_behaviors.TENSORFLOW_ENV_ORDER,
    env_containers=kind_behaviors.TENSORFLOW_ENV_CONTAINERS,
)


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower a TensorFlowTrainingJob (docs/evidence/t9k-tensorflowtrainingjob.md) to PodGroup, TensorBoard,
    Services, Pods."""

    def build_others(job: JobContext) -> list[ReplicaGroup]:
        return build_tensorboards(job, kind_behaviors.TENSORFLOW_TENSORBOARD)

    return lower_training_job(cr, options, MASTER_TYPES, _BEHAVIORS, _build_env, build_others)


def _build_env(
    job: JobContext, roles: list[ReplicaType], replica_type: ReplicaType, port: Traced
) -> list[Traced]:
    """Return TF_CONFIG, as a list of one, or of none for a job that is not distributed."""
    single = job.options.resolve_behavior(kind_behaviors.TENSORFLOW_SINGLE)
    if sum(role.replicas for role in roles) < 2 and not single.value:
        return []
    behavior = job.options.first_configured(
        kind_behaviors.TENSORFLOW_CONFIG,
        kind_behaviors.TENSORFLOW_ADDRESS,
        kind_behaviors.TENSORFLOW_ENVIRONMENT,
        kind_behaviors.TENSORFLOW_EVALUATOR,
        kind_behaviors.TENSORFLOW_SINGLE,
        kind_behaviors.TENSORFLOW_PORT,
        kind_behaviors.TENSORFLOW_ENV_CONTAINERS,
        *NAMING_BEHAVIORS,
    )
    pieces = [
        *_build_cluster(job, roles, port),
        f',"task":{{"type":"{replica_type.name}","index":',
        Indexed((0,)),
        "}",
    ]
    if job.options.resolve_behavior(kind_behaviors.TENSORFLOW_ENVIRONMENT).value:
        pieces.append(',"environment":"cloud"')
    replica_origins = tuple(why for role in roles for why in role.replica_origins)
    value = attribute_to((replica_type.entry, behavior, *replica_origins), Listing((*pieces, "}")))
    return [attribute_to((replica_type.entry, behavior), {"name": "TF_CONFIG", "value": value})]


def _build_cluster(job: JobContext, roles: list[ReplicaType], port: Traced) -> _Pieces:
    """Return the beginning of TF_CONFIG: the addresses of the types, which Go sorts by name."""
    with_evaluators = job.options.resolve_behavior(kind_behaviors.TENSORFLOW_EVALUATOR).value
    by_name = {role.name: role for role in reversed(roles) if with_evaluators or role.name != "evaluator"}
    pieces: _Pieces = ['{"cluster":{']
    for number, name in enumerate(sorted(by_name)):
        pieces += [f'{"," if number else ""}"{name}":[', *_list_addresses(job, by_name[name], port), "]"]
    return [*pieces, "}"]


def _list_addresses(job: JobContext, replica_type: ReplicaType, port: Traced) -> _Pieces:
    if replica_type.replicas <= 0:
        return []
    word_values = build_name_words(job.name_words) | {
        "host": build_host_name(job, replica_type),
        "port": port.value,
    }
    address = fill_pattern(job.options.resolve_behavior(kind_behaviors.TENSORFLOW_ADDRESS).value, word_values)
    line = address if isinstance(address, Indexed) else Indexed((address or "",))
    following = RepeatedLine(Indexed((',"', *line.parts, '"')), 1, replica_type.replicas - 1)
    return [f'"{line.text_at(0)}"', following]
