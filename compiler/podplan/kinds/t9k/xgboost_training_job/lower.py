"""Lowers XGBoostTrainingJob: the address of the master and the ranks by env, a Service for each replica."""

from __future__ import annotations

import itertools

from podplan.core.indexed_text import Indexed
from podplan.core.provenance import Cursor, Traced, attribute_to
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup
from podplan.kinds.common.name_patterns import INDEX_TEXT, build_name_words, fill_pattern
from podplan.kinds.spec import References
from podplan.kinds.t9k.job import JobContext, ReplicaType, trace_job_name
from podplan.kinds.t9k.services import NAMING_BEHAVIORS, build_host_name
from podplan.kinds.t9k.traced_patterns import TracedWords, build_patterned_variables
from podplan.kinds.t9k.training_job import find_master_type, lower_training_job
from podplan.kinds.t9k.training_pods import TrainingBehaviors, find_first_type
from podplan.kinds.t9k.xgboost_training_job import behaviors as kind_behaviors

MASTER_TYPES = ("master",)
_BEHAVIORS = TrainingBehaviors(
    container=kind_behaviors.XGBOOST_TRAINING_CONTAINER,
    port=kind_behaviors.XGBOOST_PORT,
    port_name=kind_behaviors.XGBOOST_PORT_NAME,
    port_by_name=kind_behaviors.XGBOOST_PORT_BY_NAME,
    declares_port=kind_behaviors.XGBOOST_DECLARES_PORT,
    env_order=kind_behaviors.XGBOOST_ENV_ORDER,
    env_containers=kind_behaviors.XGBOOST_ENV_CONTAINERS,
)


def lower(cr: Cursor, _references: References, options: LoweringOptions) -> list[ReplicaGroup]:
    """Lower an XGBoostTrainingJob (docs/evidence/t9k-xgboosttrainingjob.md) to PodGroup, Services, Pods."""
    return lower_training_job(cr, options, MASTER_TYPES, _BEHAVIORS, _build_env)


def _build_env(
    job: JobContext, roles: list[ReplicaType], replica_type: ReplicaType, port: Traced
) -> list[Traced]:
    """Return the variables of the replicas of one type."""
    behavior = job.options.resolve_behavior(kind_behaviors.XGBOOST_ENV)
    master = find_master_type(roles, MASTER_TYPES) or find_first_type(roles)
    replica_origins = tuple(why for role in roles for why in role.replica_origins)
    words: TracedWords = {
        "master-port": port._replace(value=str(port.value)),
        "master-addr": _build_master_address(job, master),
        "world-size": attribute_to(
            (kind_behaviors.XGBOOST_WORLD_SIZE, *replica_origins),
            str(sum(role.replicas for role in roles)),
        ),
        "rank": attribute_to(
            (kind_behaviors.XGBOOST_RANK, replica_type.entry),
            Indexed((_find_first_rank(roles, master, replica_type),)),
        ),
        "type": attribute_to(replica_type.entry.get("type"), replica_type.name),
        "index": attribute_to(replica_type.entry, INDEX_TEXT),
        "base": attribute_to(job.base_name_origins, job.base_name),
        "job": trace_job_name(job),
    }
    return build_patterned_variables(behavior, words, job.spec)


def _build_master_address(job: JobContext, master: ReplicaType) -> Traced:
    address_behavior = job.options.resolve_behavior(kind_behaviors.XGBOOST_MASTER_ADDR)
    word_values = build_name_words(job.name_words) | {"host": build_host_name(job, master).text_at(0)}
    return attribute_to(
        (
            master.entry.get("type"),
            job.options.first_configured(kind_behaviors.XGBOOST_MASTER_ADDR, *NAMING_BEHAVIORS),
        ),
        str(fill_pattern(address_behavior.value, word_values)),
    )


def _find_first_rank(roles: list[ReplicaType], master: ReplicaType, replica_type: ReplicaType) -> int:
    """Return the rank of the first replica of a type: the master comes first, wherever it is written."""
    if replica_type is master:
        return 0
    earlier_types = itertools.takewhile(lambda role: role is not replica_type, roles)
    return master.replicas + sum(role.replicas for role in earlier_types if role is not master)
