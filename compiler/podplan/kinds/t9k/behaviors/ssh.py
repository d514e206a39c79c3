"""Behaviors of the controllers whose kinds start processes over ssh."""

from __future__ import annotations

from podplan.core.provenance import Behavior

SSH_SECRET = Behavior(
    "ssh.secret",
    "each job has a key pair of its own in a Secret <base>-ssh; podplan shows a placeholder for it",
    "anchored",
    "docs/evidence/ssh.md#keys-of-a-job",
    "{base}-ssh",
    placeholders=("base", "job"),
)
SSH_KEYS_VOLUME = Behavior(
    "ssh.keys-volume",
    "the volume with the keys is called ssh-keys, with a number after it where a template has that name",
    "assumed",
    "docs/evidence/ssh.md#files-of-a-job",
    "ssh-keys",
)
SSH_KEY_FILES = Behavior(
    "ssh.key-files",
    "these keys of the Secret are mounted as these files",
    "assumed",
    "docs/evidence/ssh.md#key-files",
    [
        "ssh-privatekey:id_rsa",
        "ssh-publickey:id_rsa.pub",
        "ssh-publickey:authorized_keys",
        "config:config",
    ],
)
SSH_KEY_PLACEHOLDER = Behavior(
    "ssh.key-placeholder",
    "RSA keys are made when the job is created, since fabric, with which colossalai run connects, reads no "
    "others from id_rsa; this text stands for them",
    "assumed",
    "docs/evidence/ssh.md#key-type",
)
SSH_CLIENT_CONFIG = Behavior(
    "ssh.client-config",
    "ssh does not ask about host keys, which are new for each Pod",
    "anchored",
    "docs/evidence/ssh.md#client-configuration",
    "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  ConnectionAttempts 10\n",
)
SSH_MOUNT_PATH = Behavior(
    "ssh.auth-mount-path",
    "the keys are mounted at /root/.ssh unless another path is given",
    "documented",
    "docs/evidence/ssh.md#mount-path-of-the-keys",
    "/root/.ssh",
)
SSH_KEYS_APART = Behavior(
    "ssh.keys-apart",
    "the keys are mounted as one folder, so that sshd of the image has StrictModes off: the folder of a "
    "Secret's volume is open to all",
    "anchored",
    "docs/evidence/ssh.md#folder-of-the-keys",
    False,
)
SSH_KEY_MODE = Behavior(
    "ssh.key-mode",
    "keys at /root/.ssh are readable by their owner only, as ssh demands; elsewhere the mode is left alone",
    "anchored",
    "docs/evidence/ssh.md#mode-of-the-keys",
    0o600,
)
SSH_PORT = Behavior(
    "ssh.port",
    "sshd listens on port 22",
    "assumed",
    "docs/evidence/ssh.md#port-of-sshd",
    22,
)
SSH_PORT_NAME = Behavior(
    "ssh.port-name",
    "the port of sshd is called ssh",
    "assumed",
    "docs/evidence/ssh.md#port-of-sshd",
    "ssh",
)
SSH_DECLARES_PORT = Behavior(
    "ssh.declares-port",
    "containers do not declare the port of sshd",
    "assumed",
    "docs/evidence/ssh.md#port-of-sshd",
    False,
)
SSHD_PATH = Behavior(
    "ssh.sshd-path",
    "sshd is at /usr/sbin/sshd unless another path is given",
    "documented",
    "docs/evidence/ssh.md#path-of-sshd",
    "/usr/sbin/sshd",
)
SSHD_ARGUMENTS = Behavior(
    "ssh.sshd-arguments",
    "sshd stays in the foreground",
    "documented",
    "docs/evidence/ssh.md#arguments-of-sshd",
    ["-D"],
)
SSHD = Behavior(
    "ssh.sshd",
    "the training container of a worker runs sshd; its own command and args are ignored",
    "documented",
    "docs/evidence/ssh.md#command-of-the-workers",
)
SSH_CONFIG_MAP = Behavior(
    "ssh.config-map",
    "the hostfile and the env file are in a ConfigMap <base>-config",
    "assumed",
    "docs/evidence/ssh.md#files-of-a-job",
    "{base}-config",
    placeholders=("base", "job"),
)
SSH_FILES_VOLUME = Behavior(
    "ssh.files-volume",
    "the volume with these files is called job-files, with a number after it where a template has that name",
    "assumed",
    "docs/evidence/ssh.md#files-of-a-job",
    "job-files",
)
SSH_HOSTFILE_KEY = Behavior(
    "ssh.hostfile-key",
    "the hostfile is called hostfile in the ConfigMap",
    "assumed",
    "docs/evidence/ssh.md#files-of-a-job",
    "hostfile",
)
HOSTFILE = Behavior(
    "ssh.hostfile",
    "the hostfile has a line for each worker, by the name of its Service",
    "anchored",
    "docs/evidence/ssh.md#hostfile-of-a-job",
)
