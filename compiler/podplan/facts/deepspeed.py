"""What the controller of DeepSpeedJob does."""

from __future__ import annotations

from podplan.provenance import Fact

DEEPSPEED_TRAINING_CONTAINER = Fact(
    "deepspeed.training-container",
    "the training container is the one called worker, else the first",
    "documented",
    "t9k-semantics §6.2, user manual: deepspeedjob",
    "worker",
)
DEEPSPEED_COMMAND = Fact(
    "deepspeed.command",
    "worker-0 runs sshd and deepspeed in one shell; each word reaches deepspeed as it is written",
    "assumed",
    "t9k-semantics §6.2, §6.4; lowering-anchors §2.2",
)
DEEPSPEED_CUSTOM_COMMAND = Fact(
    "deepspeed.custom-command",
    "customCommand takes the place of deepspeed and its options",
    "documented",
    "t9k-semantics §6.1, API reference: Config.customCommand",
)
DEEPSPEED_DEBUG = Fact(
    "deepspeed.debug-command",
    "in debug mode every worker runs only sshd unless another command is given",
    "documented",
    "t9k-semantics §1.1, §6.2, user manual: deepspeedjob",
    ["/usr/sbin/sshd", "-D"],
)
DEEPSPEED_SLOTS = Fact(
    "deepspeed.slots-per-worker",
    "a worker has one slot unless slotsPerWorker says otherwise",
    "assumed",
    "t9k-semantics §6.1",
    1,
)
DEEPSPEED_HOSTFILE_PATH = Fact(
    "deepspeed.hostfile-path",
    "the hostfile is at /t9k/hostfile",
    "documented",
    "t9k-semantics §6.2, user manual: deepspeedjob",
    "/t9k/hostfile",
)
DEEPSPEED_ENV_FILE_PATH = Fact(
    "deepspeed.env-file-path",
    "the env file is at /root/.deepspeed_env",
    "documented",
    "t9k-semantics §6.2, §6.3, user manual: deepspeedjob",
    "/root/.deepspeed_env",
)
DEEPSPEED_ENV_FILE = Fact(
    "deepspeed.env-file",
    "the env file has a line NAME=VALUE for each variable of the training container that has a plain value",
    "assumed",
    "t9k-semantics §6.3; lowering-anchors §2.4",
)
