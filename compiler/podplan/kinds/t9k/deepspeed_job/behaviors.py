"""Behaviors of the controller of DeepSpeedJob."""

from __future__ import annotations

from podplan.core.provenance import Behavior

DEEPSPEED_TRAINING_CONTAINER = Behavior(
    "deepspeed.training-container",
    "the training container is the one called worker, else the first",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#training-container",
    "worker",
)
DEEPSPEED_COMMAND = Behavior(
    "deepspeed.command",
    "worker-0 runs sshd and deepspeed in one shell; each word reaches deepspeed as it is written",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#command-of-worker-0",
    "{sshd} & {deepspeed}",
    placeholders=("sshd", "deepspeed"),
)
DEEPSPEED_SHELL = Behavior(
    "deepspeed.shell",
    "the line of worker-0 is run by bash",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#command-of-worker-0",
    ["/bin/bash", "-c"],
)
DEEPSPEED_QUOTING = Behavior(
    "deepspeed.quoting",
    "words in the line of worker-0 are quoted where the shell needs it, not all of them in double quotes",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#command-of-worker-0",
    "needed",
    ("needed", "double"),
)
DEEPSPEED_OPTIONS = Behavior(
    "deepspeed.options",
    "deepspeed gets the hostfile as an option, before the options of config",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#options-of-deepspeed",
    ["--hostfile={hostfile}"],
    placeholders=("hostfile", "master-addr", "replicas", "slots", "base", "job"),
)
DEEPSPEED_CUSTOM_COMMAND = Behavior(
    "deepspeed.custom-command",
    "customCommand takes the place of deepspeed and its options",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#custom-command",
)
DEEPSPEED_DEBUG = Behavior(
    "deepspeed.debug-command",
    "in debug mode every worker runs only sshd unless another command is given",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#debug-command",
    ["/usr/sbin/sshd", "-D"],
)
DEEPSPEED_SLOTS = Behavior(
    "deepspeed.slots-per-worker",
    "a worker has one slot unless slotsPerWorker says otherwise",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#slots-per-worker",
    1,
)
DEEPSPEED_HOSTFILE_PATH = Behavior(
    "deepspeed.hostfile-path",
    "the hostfile is at /t9k/hostfile",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#reserved-paths",
    "/t9k/hostfile",
)
DEEPSPEED_ENV_FILE_PATH = Behavior(
    "deepspeed.env-file-path",
    "the env file is at /root/.deepspeed_env",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#env-file",
    "/root/.deepspeed_env",
)
DEEPSPEED_ENV_FILE = Behavior(
    "deepspeed.env-file",
    "the env file has a line NAME=VALUE for each variable of the training container that has a plain value",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#env-file",
    "{name}={value}",
    placeholders=("name", "value"),
)
DEEPSPEED_ENV_FILE_KEY = Behavior(
    "deepspeed.env-file-key",
    "the env file is called deepspeed_env in the ConfigMap",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#env-file",
    "deepspeed_env",
)
DEEPSPEED_HOSTFILE_LINE = Behavior(
    "deepspeed.hostfile-line",
    "a line of the hostfile is the host and its slots",
    "anchored",
    "docs/evidence/t9k-deepspeedjob.md#hostfile",
    "{host} slots={slots}",
    placeholders=("host", "slots"),
)
