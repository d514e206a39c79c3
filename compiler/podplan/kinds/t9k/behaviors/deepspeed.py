"""What the controller of DeepSpeedJob does."""

from __future__ import annotations

from podplan.core.provenance import Fact

DEEPSPEED_TRAINING_CONTAINER = Fact(
    "deepspeed.training-container",
    "the training container is the one called worker, else the first",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#training-container",
    "worker",
)
DEEPSPEED_COMMAND = Fact(
    "deepspeed.command",
    "worker-0 runs sshd and deepspeed in one shell; each word reaches deepspeed as it is written",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#command-of-worker-0",
    "{sshd} & {deepspeed}",
    words=("sshd", "deepspeed"),
)
DEEPSPEED_SHELL = Fact(
    "deepspeed.shell",
    "the line of worker-0 is run by bash",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#command-of-worker-0",
    ["/bin/bash", "-c"],
)
DEEPSPEED_QUOTING = Fact(
    "deepspeed.quoting",
    "words in the line of worker-0 are quoted where the shell needs it, not all of them in double quotes",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#command-of-worker-0",
    "needed",
    ("needed", "double"),
)
DEEPSPEED_OPTIONS = Fact(
    "deepspeed.options",
    "deepspeed is told the hostfile, before the options of config",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#options-of-deepspeed",
    ["--hostfile={hostfile}"],
    words=("hostfile", "master-addr", "replicas", "slots", "base", "job"),
)
DEEPSPEED_CUSTOM_COMMAND = Fact(
    "deepspeed.custom-command",
    "customCommand takes the place of deepspeed and its options",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#custom-command",
)
DEEPSPEED_DEBUG = Fact(
    "deepspeed.debug-command",
    "in debug mode every worker runs only sshd unless another command is given",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#debug-command",
    ["/usr/sbin/sshd", "-D"],
)
DEEPSPEED_SLOTS = Fact(
    "deepspeed.slots-per-worker",
    "a worker has one slot unless slotsPerWorker says otherwise",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#slots-per-worker",
    1,
)
DEEPSPEED_HOSTFILE_PATH = Fact(
    "deepspeed.hostfile-path",
    "the hostfile is at /t9k/hostfile",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#reserved-paths",
    "/t9k/hostfile",
)
DEEPSPEED_ENV_FILE_PATH = Fact(
    "deepspeed.env-file-path",
    "the env file is at /root/.deepspeed_env",
    "documented",
    "docs/evidence/t9k-deepspeedjob.md#env-file",
    "/root/.deepspeed_env",
)
DEEPSPEED_ENV_FILE = Fact(
    "deepspeed.env-file",
    "the env file has a line NAME=VALUE for each variable of the training container that has a plain value",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#env-file",
    "{name}={value}",
    words=("name", "value"),
)
DEEPSPEED_ENV_FILE_KEY = Fact(
    "deepspeed.env-file-key",
    "the env file is called deepspeed_env in the ConfigMap",
    "assumed",
    "docs/evidence/t9k-deepspeedjob.md#env-file",
    "deepspeed_env",
)
DEEPSPEED_HOSTFILE_LINE = Fact(
    "deepspeed.hostfile-line",
    "a line of the hostfile is the host and its slots",
    "anchored",
    "docs/evidence/t9k-deepspeedjob.md#hostfile",
    "{host} slots={slots}",
    words=("host", "slots"),
)
