"""Behaviors of the controller of GenericJob."""

from __future__ import annotations

from podplan.core.provenance import Behavior
from podplan.kinds.t9k.behaviors.jobs import REPLICA_WORDS

GENERIC_LABELS = Behavior(
    "generic.labels",
    "the labels genericjob and genericjob-replica name the job and the replica",
    "documented",
    "docs/evidence/t9k-genericjob.md#labels",
)
GENERIC_SERVICE = Behavior(
    "generic.service",
    "a service section gives every replica a Service called <base>-<type>-<rank>",
    "documented",
    "docs/evidence/t9k-genericjob.md#services",
)
GENERIC_SELECTOR = Behavior(
    "generic.selector",
    "the Service of a replica finds its Pod by the labels genericjob and genericjob-replica",
    "assumed",
    "docs/evidence/t9k-genericjob.md#service-selector",
    {"genericjob": "{job}", "genericjob-replica": "{job}-{type}-{index}"},
    placeholders=REPLICA_WORDS,
)
GENERIC_SUBSTITUTION = Behavior(
    "generic.substitution",
    "$(type), $(rank), $(replicas[T]) and $(service…) are replaced in command, args and env values",
    "documented",
    "docs/evidence/t9k-genericjob.md#variable-substitution",
)
GENERIC_INIT_SUBSTITUTION = Behavior(
    "generic.init-substitution",
    "variables in init containers are replaced too",
    "assumed",
    "docs/evidence/t9k-genericjob.md#containers-with-variable-substitution",
    False,
)
