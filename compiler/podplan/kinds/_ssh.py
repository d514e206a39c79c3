"""What the kinds share that reach their workers over ssh: keys, hostfile, mounts, sshd and its port."""

from __future__ import annotations

from base64 import b64encode

from podplan import facts
from podplan.groups import Group, group
from podplan.kinds._children import Tree, job_labels, metadata
from podplan.kinds._job import Job, Role
from podplan.kinds._pods import REPLICA_INDEX
from podplan.provenance import Cursor, Fact, Indexed, Listing, Marked, Run, at, default

KEYS = "ssh-keys"
FILES = "job-files"
HOSTFILE = "hostfile"
PLACEHOLDER = "placeholder written by podplan, not a key\n"


def secret(job: Job) -> Group:
    """The Secret with the keys of the job and the settings of the ssh client; no real key is in it."""
    key = at((facts.SSH_KEY_PLACEHOLDER, job.spec), _encoded(PLACEHOLDER))
    client, port = job.options.fact(facts.SSH_CLIENT), job.options.fact(facts.SSH_PORT)
    settings = f"{client.value}  Port {port.value}\n"
    tree = at(
        (job.spec, facts.SSH_SECRET),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(job, _secret_name(job), labels=job_labels(job)),
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
        (job.spec, facts.JOB_FILES),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(job, _config_map_name(job), labels=job_labels(job)),
            "data": files,
        },
    )
    return group(tree)


def hostfile(job: Job, workers: Role, slots: str = "", *slots_from: Cursor) -> Marked:
    """The hostfile: a line for each worker, its host and then ``slots``, which ``slots_from`` gave."""
    line = Indexed((f"{job.base}-{workers.type}-", REPLICA_INDEX, f"{slots}\n"))
    run = Run(line, 0, max(workers.replicas, 0))
    return at((facts.HOSTFILE, *workers.counted, *slots_from), Listing((run,)))


def setting(job: Job, fact: Fact, written: Cursor | None) -> Cursor | Marked:
    """What is written, if the kind has a field for it and it is given; else the value of ``fact``."""
    fact = job.options.fact(fact)
    return default(written, fact) if written is not None else at((fact, job.spec), fact.value)


def volume_name(job: Job, name: str) -> str:
    """``name``, or with a number where a template uses it: the controller's own name is not known."""
    written = [job.spec.get("worker"), *job.spec.get("replicaSpecs").entries()]
    taken = {
        volume.get("name").value
        for role in written
        for volume in role.get("template", "spec", "volumes").entries()
    }
    free = (f"{name}-{number}" if number else name for number in range(len(taken) + 1))
    return next(candidate for candidate in free if candidate not in taken)


def volumes(job: Job, keys_at: Cursor | Marked, *, files: bool) -> list[Marked]:
    """The volumes of a Pod: the keys that it mounts at ``keys_at``, and the files if it mounts any."""
    keys: Tree = {
        "secretName": _secret_name(job),
        "items": [
            {"key": "ssh-privatekey", "path": "id_rsa"},
            {"key": "ssh-publickey", "path": "id_rsa.pub"},
            {"key": "ssh-publickey", "path": "authorized_keys"},
            {"key": "config", "path": "config"},
        ],
    }
    if keys_at.value == facts.SSH_MOUNT_PATH.value:
        mode = job.options.fact(facts.SSH_MODE)
        keys["defaultMode"] = at((mode, job.spec), mode.value)
    mounted = [at((job.spec, facts.SSH_SECRET), {"name": volume_name(job, KEYS), "secret": keys})]
    if files:
        volume = {"name": volume_name(job, FILES), "configMap": {"name": _config_map_name(job)}}
        mounted.append(at((job.spec, facts.JOB_FILES), volume))
    return mounted


def keys_mount(job: Job, keys_at: Cursor | Marked) -> Marked:
    """The mount of the keys."""
    return at((job.spec, facts.SSH_SECRET), {"name": volume_name(job, KEYS), "mountPath": keys_at})


def file_mount(job: Job, key: str, path: Fact) -> Marked:
    """The mount of one file of the ConfigMap at the path that a fact gives."""
    path = job.options.fact(path)
    mount = {"name": volume_name(job, FILES), "mountPath": path.value, "subPath": key}
    return at((path, job.spec), mount)


def sshd(job: Job, container: Cursor, path: Cursor | Marked) -> Marked:
    """The command of a worker: sshd instead of what the container says."""
    return at((job.spec, facts.SSHD), [path, *arguments(job)], over=ignored(container))


def arguments(job: Job) -> list[Marked]:
    """What sshd is told."""
    fact = job.options.fact(facts.SSHD_ARGUMENTS)
    return [at((fact, job.spec), str(word)) for word in fact.value]


def ignored(container: Cursor) -> tuple[Cursor, Cursor]:
    """What a container says of its command, where the controller sets the command itself."""
    return container.get("command"), container.get("args")


def with_command(container: Cursor, command: Marked, mounts: list[Marked]) -> Tree:
    """A container with a command of the controller instead of its own, and with further mounts."""
    tree: Tree = {**container.fields()}
    tree.pop("args", None)
    tree["command"] = command
    tree["volumeMounts"] = [*container.get("volumeMounts").entries(), *mounts]
    return tree


def ssh_port(job: Job) -> Marked:
    """The port of sshd as a port of a Service."""
    port = job.options.fact(facts.SSH_PORT)
    return at((port, job.spec), {"name": "ssh", "port": port.value})


def _secret_name(job: Job) -> str:
    return f"{job.base}-ssh"


def _config_map_name(job: Job) -> str:
    return f"{job.base}-config"


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
