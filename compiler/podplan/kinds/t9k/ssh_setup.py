"""What the kinds share that reach their workers over ssh: keys, hostfile, mounts, sshd and its port."""

from __future__ import annotations

from base64 import b64encode

from podplan.core.indexed_text import Indexed, Listing, Run
from podplan.core.provenance import Cursor, Fact, Marked, Why, at, computed, default
from podplan.core.replica_groups import Group, group
from podplan.core.typing import NamedTuple
from podplan.kinds.common.name_patterns import filled, naming
from podplan.kinds.t9k import behaviors
from podplan.kinds.t9k.child_metadata import Tree, metadata
from podplan.kinds.t9k.job import Job, Role
from podplan.kinds.t9k.pods import why_named
from podplan.kinds.t9k.services import NAMING, host
from podplan.kubernetes.accessors import entries, mapping, text

PLACEHOLDER = "placeholder written by podplan, not a key\n"


def secret(job: Job) -> Group:
    """The Secret with the keys of the job and the settings of the ssh client; no real key is in it."""
    key = at((behaviors.SSH_KEY_PLACEHOLDER, job.spec), _encoded(PLACEHOLDER))
    client, port = job.options.fact(behaviors.SSH_CLIENT), job.options.fact(behaviors.SSH_PORT)
    settings = f"{client.value}  Port {port.value}\n"
    tree = at(
        (job.spec, behaviors.SSH_SECRET),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": _head(job, behaviors.SSH_SECRET, "Secret"),
            "type": "kubernetes.io/ssh-auth",
            "data": {
                "ssh-privatekey": key,
                "ssh-publickey": key,
                "config": at((client, job.spec), _encoded(settings)),
            },
        },
    )
    return group(tree)


def config_map(job: Job, files: Tree) -> Group:
    """The ConfigMap with the hostfile and other files of the job."""
    tree = at(
        (job.spec, behaviors.JOB_FILES),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _head(job, behaviors.JOB_FILES, "ConfigMap"),
            "data": files,
        },
    )
    return group(tree)


def hostfile(job: Job, workers: Role, form: Fact, slots: int | None = None, *slots_from: Why) -> Tree:
    """The hostfile, as a file of the ConfigMap: a line for each worker in the form that a fact gives.

    ``slots_from`` is what gave the slots.
    """
    pattern = job.options.fact(form).value + "\n"
    line = filled(pattern, {"host": host(job, workers), "slots": slots})
    run = Run(line if isinstance(line, Indexed) else Indexed((line or "",)), 0, max(workers.replicas, 0))
    given = [why for why in slots_from if isinstance(why, Fact)]
    why = job.options.told(behaviors.HOSTFILE, behaviors.SSH_HOSTFILE_KEY, form, *given, *NAMING)
    return {hostfile_key(job): at((why, *workers.counted, *slots_from), Listing((run,)))}


def hostfile_key(job: Job) -> str:
    """What the hostfile is called in the ConfigMap."""
    return str(job.options.fact(behaviors.SSH_HOSTFILE_KEY).value)


def setting(job: Job, fact: Fact, written: Cursor | None) -> Cursor | Marked:
    """What is written, if the kind has a field for it and it is given; else the value of ``fact``."""
    fact = job.options.fact(fact)
    return default(written, fact) if written is not None else at((fact, job.spec), fact.value)


class Mounted(NamedTuple):
    """What the Pods of a job mount: the names of the volumes, and where the keys are."""

    keys: Marked
    files: Marked
    keys_at: Cursor | Marked


def mounted(job: Job, keys_at: Cursor | None) -> Mounted:
    """The names of the volumes, with a number where a template uses one; ``keys_at`` is as in ``setting``."""
    spec = job.spec.value
    written = [mapping(spec, "worker"), *(role for _, role in entries(spec, "replicaSpecs"))]
    taken = {
        text(volume, "name")
        for role in written
        for _, volume in entries(mapping(mapping(role, "template"), "spec"), "volumes")
    }
    keys, files = (
        _free(job, fact, taken) for fact in (behaviors.SSH_KEYS_VOLUME, behaviors.SSH_FILES_VOLUME)
    )
    return Mounted(keys, files, setting(job, behaviors.SSH_MOUNT_PATH, keys_at))


def _free(job: Job, fact: Fact, taken: set[str]) -> Marked:
    fact = job.options.fact(fact)
    name = fact.value
    free = (f"{name}-{number}" if number else name for number in range(len(taken) + 1))
    return at((fact, job.spec), next(candidate for candidate in free if candidate not in taken))


def volumes(job: Job, ssh: Mounted, *, files: bool) -> list[Marked]:
    """The volumes of a Pod: the keys, and the files if it mounts any."""
    secret, listed = job.options.fact(behaviors.SSH_SECRET), job.options.fact(behaviors.SSH_KEY_FILES)
    pairs = [entry.partition(":") for entry in listed.value]
    keys: Tree = {
        "secretName": at((secret, *job.name_why), _named(job, secret)),
        "items": at((listed, job.spec), [{"key": key, "path": path} for key, _, path in pairs]),
    }
    if ssh.keys_at.value == behaviors.SSH_MOUNT_PATH.value:
        mode = job.options.fact(behaviors.SSH_MODE)
        keys["defaultMode"] = at((mode, job.spec), mode.value)
    added = [at((job.spec, behaviors.SSH_SECRET), {"name": ssh.keys, "secret": keys})]
    if files:
        fact = job.options.fact(behaviors.JOB_FILES)
        source = {"name": at((fact, *job.name_why), _named(job, fact))}
        added.append(at((job.spec, behaviors.JOB_FILES), {"name": ssh.files, "configMap": source}))
    return added


def keys_mounts(job: Job, ssh: Mounted) -> list[Marked]:
    """The mounts of the keys: one for each file, or one of the folder."""
    name, keys_at = ssh.keys, ssh.keys_at
    apart, listed = job.options.fact(behaviors.SSH_KEYS_APART), job.options.fact(behaviors.SSH_KEY_FILES)
    if not apart.value:
        return [at((job.spec, apart), {"name": name, "mountPath": keys_at})]
    files = [entry.partition(":")[2] for entry in listed.value]
    return [
        at((job.spec, apart), {"name": name, "mountPath": _below(keys_at, file), "subPath": file})
        for file in files
    ]


def _below(keys_at: Cursor | Marked, file: str) -> Marked:
    path = f"{str(keys_at.value).rstrip('/')}/{file}"
    return keys_at._replace(value=path) if isinstance(keys_at, Marked) else computed(lambda _: path, keys_at)


def file_mount(job: Job, ssh: Mounted, key: Fact, path: Fact) -> Marked:
    """The mount of one file of the ConfigMap: its key there, and the path, as facts give them."""
    path, key = job.options.fact(path), job.options.fact(key)
    part = at((key, job.spec), key.value)
    return at((path, job.spec), {"name": ssh.files, "mountPath": path.value, "subPath": part})


def sshd(job: Job, container: Cursor, path: Cursor | Marked) -> Marked:
    """The command of a worker: sshd instead of what the container says."""
    told = job.options.told(behaviors.SSHD, behaviors.SSHD_ARGUMENTS)
    return at((job.spec, told), [path, *arguments(job)], over=ignored(container))


def arguments(job: Job) -> list[Marked]:
    """What sshd is told."""
    fact = job.options.fact(behaviors.SSHD_ARGUMENTS)
    return [at((fact, job.spec), str(word)) for word in fact.value]


def ignored(container: Cursor) -> tuple[Cursor, Cursor]:
    """What a container says of its command, where the controller sets the command itself."""
    return container.get("command"), container.get("args")


def with_command(job: Job, container: Cursor, command: Marked, mounts: list[Marked]) -> Tree:
    """A container with a command of the controller instead of its own, and with further mounts."""
    tree: Tree = {**container.fields()}
    declares = job.options.fact(behaviors.SSH_DECLARES_PORT)
    if declares.value:
        port = at((declares, job.spec), _port(job, "containerPort"))
        tree["ports"] = [*container.get("ports").entries(), port]
    tree.pop("args", None)
    tree["command"] = command
    tree["volumeMounts"] = [*container.get("volumeMounts").entries(), *mounts]
    return tree


def ssh_port(job: Job) -> Marked:
    """The port of sshd as a port of a Service."""
    return at((job.options.fact(behaviors.SSH_PORT), job.spec), _port(job, "port"))


def _port(job: Job, key: str) -> Tree:
    port, name = job.options.fact(behaviors.SSH_PORT), job.options.fact(behaviors.SSH_PORT_NAME)
    return {"name": at((name, job.spec), name.value), key: at((port, job.spec), port.value)}


def _head(job: Job, named: Fact, kind: str) -> Tree:
    """The metadata of an object of the job that is called by the fact ``named``."""
    return metadata(job, _named(job, named), kind=kind, labels=job.labels, why=why_named(job, named))


def _named(job: Job, fact: Fact) -> str:
    return str(filled(job.options.fact(fact).value, naming(job)))


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
