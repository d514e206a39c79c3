"""What the controller of GenericJob does."""

from __future__ import annotations

from podplan.facts.jobs import REPLICA_WORDS
from podplan.provenance import Fact

GENERIC_LABELS = Fact(
    "generic.labels",
    "the labels genericjob and genericjob-replica name the job and the replica",
    "documented",
    "t9k-semantics §2.3, user manual: use-podgroup",
)
GENERIC_SERVICE = Fact(
    "generic.service",
    "a service section gives every replica a Service called <base>-<type>-<rank>",
    "documented",
    "t9k-semantics §4.4, user manual: genericjob",
)
GENERIC_SELECTOR = Fact(
    "generic.selector",
    "the Service of a replica finds its Pod by the labels genericjob and genericjob-replica",
    "assumed",
    "t9k-semantics §4.4",
    {"genericjob": "{job}", "genericjob-replica": "{job}-{type}-{index}"},
    words=REPLICA_WORDS,
)
GENERIC_SUBSTITUTION = Fact(
    "generic.substitution",
    "$(type), $(rank), $(replicas[T]) and $(service…) are replaced in command, args and env values",
    "documented",
    "t9k-semantics §4.3, user manual: genericjob",
)
GENERIC_INIT_SUBSTITUTION = Fact(
    "generic.init-substitution",
    "variables in init containers are replaced too",
    "assumed",
    "the manual names command, args and env of the replicas, and no init containers",
    False,
)
