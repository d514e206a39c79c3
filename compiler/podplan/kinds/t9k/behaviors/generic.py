"""What the controller of GenericJob does."""

from __future__ import annotations

from podplan.core.provenance import Fact
from podplan.kinds.t9k.behaviors.jobs import REPLICA_WORDS

GENERIC_LABELS = Fact(
    "generic.labels",
    "the labels genericjob and genericjob-replica name the job and the replica",
    "documented",
    "docs/evidence/t9k-genericjob.md#labels",
)
GENERIC_SERVICE = Fact(
    "generic.service",
    "a service section gives every replica a Service called <base>-<type>-<rank>",
    "documented",
    "docs/evidence/t9k-genericjob.md#services",
)
GENERIC_SELECTOR = Fact(
    "generic.selector",
    "the Service of a replica finds its Pod by the labels genericjob and genericjob-replica",
    "assumed",
    "docs/evidence/t9k-genericjob.md#service-selector",
    {"genericjob": "{job}", "genericjob-replica": "{job}-{type}-{index}"},
    words=REPLICA_WORDS,
)
GENERIC_SUBSTITUTION = Fact(
    "generic.substitution",
    "$(type), $(rank), $(replicas[T]) and $(service…) are replaced in command, args and env values",
    "documented",
    "docs/evidence/t9k-genericjob.md#variable-substitution",
)
GENERIC_INIT_SUBSTITUTION = Fact(
    "generic.init-substitution",
    "variables in init containers are replaced too",
    "assumed",
    "docs/evidence/t9k-genericjob.md#containers-with-variable-substitution",
    False,
)
