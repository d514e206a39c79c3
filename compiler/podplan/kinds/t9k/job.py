"""A job on its way down: its name, the names of its children, its roles and its run mode."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.provenance import Cursor, Fact, Marked, Why, at, copied
from podplan.core.replica_groups import CONFIGURED, UID_FLAG, Options
from podplan.core.typing import NamedTuple
from podplan.kinds.t9k import behaviors

GENERATED = "xxxxx"  # the five characters that the API server adds to generateName


class Job(NamedTuple):
    """A CR with what all its children share.

    ``base`` is what the names of children begin with; ``name_why`` and ``base_why`` are where the names come
    from, the place to edit first. ``debug`` and ``resume`` are the parts of the run mode by replica type.
    ``words`` are those that names are made of, and ``labels`` tell whose a child is.
    """

    cr: Cursor
    spec: Cursor
    kind: str
    name: str
    name_why: tuple[Why, ...]
    base: str
    base_why: tuple[Why, ...]
    uid: Marked | Cursor
    options: Options
    debug: Mapping[str, Cursor]
    resume: Mapping[str, Cursor]
    words: Mapping[str, str]
    labels: Mapping[str, Marked]


class Role(NamedTuple):
    """One replica type. ``counted`` are the places that its number of replicas comes from."""

    type: str
    where: Cursor
    replicas: int
    counted: tuple[Why, ...]
    template: Cursor


def job(cr: Cursor, options: Options) -> Job:
    """The job of a CR that its schema accepts."""
    name, name_why = _name(cr.get("metadata"))
    written = cr.get("metadata", "uid")
    uid = at(UID_FLAG, options.uid) if options.uid and not written.value else written
    kind = str(cr.value["kind"])
    options = options._replace(kind=kind)
    base, fact = name, behaviors.BASE_SHORT
    if uid.value:
        fact = options.fact(behaviors.BASE_SUFFIX)
        base = f"{name}-{suffix(name, uid.value, fact.value)}" if fact.value else name
    spec = cr.get("spec")
    debug = by("type", spec.get("runMode", "debug", "replicaSpecs"))
    resume = by("type", spec.get("runMode", "pause", "resumeSpecs"))
    words = {
        "base": base,
        "job": name,
        "kind": kind,
        "component": kind.lower(),
        "namespace": cr.get("metadata", "namespace").otherwise("default"),
    }
    labels = {
        "tensorstack.dev/owner-name": at((behaviors.OWNER_NAME, *name_why), name),
        "tensorstack.dev/owner-kind": at((behaviors.OWNER_KIND, cr["kind"]), kind),
        "tensorstack.dev/component": at((behaviors.COMPONENT, cr["kind"]), kind.lower()),
        "tensorstack.dev/component-type": at((behaviors.COMPONENT, cr["kind"]), "user"),
    }
    base_why = (*name_why, fact)
    return Job(cr, spec, kind, name, name_why, base, base_why, uid, options, debug, resume, words, labels)


def by(key: str, listed: Cursor) -> dict[str, Cursor]:
    """The entries of a list by what they have under ``key``, if anything; of two alike, the first."""
    return {entry[key].value: entry for entry in reversed(listed.entries()) if entry.get(key).exists}


def _name(metadata: Cursor) -> tuple[str, tuple[Why, ...]]:
    """The name of a job, or what the API server will make of its generateName."""
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if name.value or not prefix.exists:
        return str(name.otherwise("")), (name,)
    return f"{prefix.value}{GENERATED}", (prefix, behaviors.GENERATED_NAME)


def configured(job: Job, fact: Fact) -> Fact | None:
    """``fact`` with its value, where the configuration gives it one."""
    told = job.options.fact(fact)
    return told if told.basis == CONFIGURED else None


def name_of(job: Job) -> Marked:
    """The name of the job as a value of its children."""
    return at(job.name_why, job.name)


def suffix(name: str, uid: str, digits: int = 5) -> str:
    """The hex digits that the controller adds to the name of a job.

    Source: docs/evidence/t9k-common.md#suffix-of-the-base-name.
    """
    return f"{fnv1a64((name + uid).encode()):016x}"[:digits]


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
    counted: tuple[Why, ...] = (replicas,) if replicas.exists else (behaviors.REPLICAS, where)
    return Role(type_, where, replicas.otherwise(1), counted, where.get("template"))


def paused(job: Job) -> bool:
    """Whether the job has no Pods now: pause mode, and it wins over debug mode.

    Source: docs/evidence/t9k-common.md#debug-and-pause-together.
    """
    return job.spec.get("runMode", "pause", "enabled").value is True and not job.options.resumed


class Launch(NamedTuple):
    """What the run mode makes of the containers of a role.

    ``command`` and ``args`` replace those of immediate mode where they are not None. ``keep_args`` says
    whether the args of immediate mode stay, for ``kept``, and ``keep_init`` whether init containers do.
    """

    command: Marked | None = None
    args: Marked | None = None
    keep_args: bool = True
    keep_init: bool = True
    kept: Fact | None = None


def launch(job: Job, type_: str, debug: Fact = behaviors.DEBUG) -> Launch:
    """The launch of one replica type; the value of ``debug`` is the kind's own command in debug mode.

    A command or args without words count as not written. What ``resumeSpecs`` give a job that goes on also
    wins over debug mode (docs/evidence/t9k-common.md#commands-on-resuming-in-debug-mode); a type to which
    they give neither is in debug mode then.
    """
    debugging, pause = job.spec.get("runMode", "debug"), job.spec.get("runMode", "pause")
    resumes = job.options.resumed and pause.get("enabled").value is True
    resume = job.resume.get(type_, pause.get("resumeSpecs", type_))
    skips = resumes and _skips_init(resume)
    if resumes:
        command, args = (_given(resume.get(key), behaviors.RESUME) for key in ("command", "args"))
        if command or args:
            return Launch(command, args, keep_init=not skips)
    if debugging.get("enabled").value is True:
        entry = job.debug.get(type_, debugging.get("replicaSpecs", type_))
        command = _given(entry.get("command")) or _by_default(job, debug, debugging)
        kept = job.options.fact(behaviors.DEBUG_ARGS)
        if kept.value:
            return Launch(command, keep_init=not (skips or _skips_init(entry)), kept=kept)
        return Launch(command, keep_args=False, keep_init=not (skips or _skips_init(entry)))
    return Launch(keep_init=not skips)


def _given(words: Cursor, fact: Fact | None = None) -> Marked | None:
    """The words as written, if there are any."""
    if not words.value:
        return None
    return copied(words, fact=fact)


def _by_default(job: Job, debug: Fact, debugging: Cursor) -> Marked:
    fact = job.options.fact(debug)
    return at((fact, debugging.get("enabled")), [str(word) for word in fact.value])


def _skips_init(entry: Cursor) -> bool:
    return entry.get("skipInitContainer").value is True
