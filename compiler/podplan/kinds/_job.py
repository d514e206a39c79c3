"""A job on its way down: its name, the names of its children, its roles and its run mode."""

from __future__ import annotations

from typing import Any, NamedTuple

from podplan import facts
from podplan.groups import UID_FLAG, Options
from podplan.provenance import Cursor, Marked, Why, at


class Job(NamedTuple):
    """A CR with what all its children share.

    ``base`` is what the names of children begin with, and ``base_why`` is where it comes from.
    """

    cr: Cursor
    spec: Cursor
    name: Cursor
    base: str
    base_why: tuple[Why, ...]
    uid: Marked | Cursor
    options: Options

    @property
    def kind(self) -> str:
        return str(self.cr.value["kind"])


class Role(NamedTuple):
    """One replica type. ``counted`` are the places that its number of replicas comes from."""

    type: str
    where: Cursor
    replicas: int
    counted: tuple[Why, ...]
    template: Cursor


def job(cr: Cursor, options: Options) -> Job:
    """The job of a CR that its schema accepts."""
    name = cr["metadata"]["name"]
    written = cr.get("metadata", "uid")
    uid = at(UID_FLAG, options.uid) if options.uid and not written.exists else written
    value = uid.value
    if value:
        why: tuple[Why, ...] = (name, facts.BASE_SUFFIX)
        return Job(cr, cr.get("spec"), name, f"{name.value}-{suffix(name.value, value)}", why, uid, options)
    return Job(cr, cr.get("spec"), name, str(name.value), (name, facts.BASE_SHORT), written, options)


def suffix(name: str, uid: str) -> str:
    """The five hex digits that the controller adds to the name of a job (t9k-semantics §2.1)."""
    return f"{fnv1a64((name + uid).encode()):016x}"[:5]


def fnv1a64(data: bytes) -> int:
    """FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/)."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def replica_roles(job: Job) -> list[Role]:
    """The roles of a kind that has ``replicaSpecs``, in the order written."""
    return [
        role(entry, str(entry.get("type").otherwise(""))) for entry in job.spec.get("replicaSpecs").entries()
    ]


def role(where: Cursor, type_: str) -> Role:
    """The role that an entry with ``replicas`` and ``template`` describes."""
    replicas = where.get("replicas")
    counted: tuple[Why, ...] = (replicas,) if replicas.exists else (facts.REPLICAS, where)
    return Role(type_, where, replicas.otherwise(facts.REPLICAS.value), counted, where.get("template"))


def paused(job: Job) -> bool:
    """Whether the job has no Pods now: pause mode, and it wins over debug mode (t9k-semantics §1.1)."""
    return job.spec.get("runMode", "pause", "enabled").value is True and not job.options.resumed


class Launch(NamedTuple):
    """What the run mode makes of the containers of a role.

    ``command`` and ``args`` replace those of immediate mode where they are not None; an ``args`` of [] drops
    them. ``keep_init`` says whether init containers stay.
    """

    command: Any = None
    args: Any = None
    keep_init: bool = True


def launch(job: Job, type_: str, debug: Marked | None = None) -> Launch:
    """The launch of one replica type; ``debug`` is the kind's own default command in debug mode, if any.

    A job that is both paused and in debug mode is in debug mode once it is resumed.
    """
    mode = job.spec.get("runMode")
    if mode.get("debug", "enabled").value is True:
        entry = _entry(mode.get("debug", "replicaSpecs"), type_)
        command = entry.get("command") if entry.get("command").value else debug or sleep(mode.get("debug"))
        return Launch(command, [], not _skips_init(entry))
    if job.options.resumed and mode.get("pause", "enabled").value is True:
        entry = _entry(mode.get("pause", "resumeSpecs"), type_)
        command, args = entry.get("command"), entry.get("args")
        return Launch(
            command if command.exists else None, args if args.exists else None, not _skips_init(entry)
        )
    return Launch()


def sleep(because: Cursor) -> Marked:
    """The default command of debug mode."""
    return at((facts.DEBUG, because.get("enabled")), list(facts.DEBUG.value))


def _skips_init(entry: Cursor) -> bool:
    return entry.get("skipInitContainer").value is True


def _entry(specs: Cursor, type_: str) -> Cursor:
    """The entry for a type; one that is not written if there is none."""
    for entry in specs.entries():
        if entry.get("type").value == type_:
            return entry
    return specs.get(len(specs.entries()))
