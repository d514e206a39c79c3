"""Traits: properties of kinds, by name; policies and checks select by trait, never by kind.

The spec of a kind lists its traits. A trait states one property of the CR or of its controller on which a
policy depends. A new kind gets every rule whose traits it has.
"""

from __future__ import annotations

from collections.abc import Mapping

TRAITS: Mapping[str, str] = {
    # Traits of the CR.
    "training": "The Pods of a job may train one model together, so that ranks, rendezvous and GPUs matter",
    "pod-templates": "The CR has the Pod templates of its replicas",
    "unique-variables": "The API server refuses containers of the CR that set a variable twice",
    "replica-types": "The CR has replica types, each with a number of replicas and a Pod template",
    "debug-mode": "The CR can turn on a debug mode, in which the Pods idle instead of training",
    "run-mode-ignored": "The CR can state a run mode, and the controller runs the job at once nevertheless",
    "flink-cluster": "The controller creates a Flink cluster, which runs what the job submits",
    "pause-mode": "The CR can turn on a pause mode, in which the job has no Pods",
    "t9k-scheduler": "The CR can name a queue of the T9k scheduler, which starts all Pods together",
    "deadline": "The CR can state after how many seconds the job ends (activeDeadlineSeconds)",
    "deadline-by-job": "Each Job of the CR has its own activeDeadlineSeconds, the CR as a whole has none",
    "success-rules": "The CR states which replicas must complete for the job to succeed or to fail",
    "service-on-request": "The replicas have a Service only where the CR asks for one",
    "env-expressions": "The controller replaces variables such as $(rank) in commands and values of env",
    "elastic": "The CR can state bounds within which the number of replicas changes (elastic)",
    "scaling-weights": "Replica types can state their share of the replicas of an elastic job",
    "scheduling-policy": "The CR can state its gang in runPolicy.schedulingPolicy",
    "suspend": "The CR can suspend the job (suspend, or runPolicy.suspend)",
    "empty-jobs-accepted": "A job without any replica type is accepted, and nothing happens to it",
    "unchecked-policies": "Nothing refuses a policy that does not exist, such as cleanPodPolicy: Always",
    "unchecked-replica-types": "Nothing refuses replica types that do not exist",
    "manager-unchecked": "Nothing checks the controller that managedBy names",
    "manager-ignored": "The controller does not read managedBy",
    "runtime": "The CR refers to a runtime, which has the Pod templates and says how nodes find each other",
    "conditional-torch-env": "Which variables of torch the controller sets depends on the job",
    "host-by-index": "Pods are named by their index as hosts, which resolve only with a headless Service",
    "time-to-live": "The CR can state when a finished job is deleted (ttlSecondsAfterFinished)",
    "shm-by-controller": "The controller mounts a volume in memory at /dev/shm",
    "own-name-rules": "podplan checks the name of a job by the rules of its controller",
    "kueue": "Kueue can queue the jobs, as its integration for the kind does",
    # Traits of the launch.
    "self-launched": "The controller runs the containers as written: it adds no launcher, rank or ssh keys",
    "ranks-by-user": "The controller gives the processes no rank: variables and command lines of the CR do",
    "torch-env": "The controller sets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE in each Pod",
    "address-of-main-replica": "Without a main replica or elasticPolicy the Pods get no address to meet at",
    "torchrun-by-controller": "The controller can start torchrun in each Pod (torchrunConfig)",
    "deepspeed-by-controller": "The controller writes the deepspeed command line, from the section config",
    "colossalai-by-controller": "The controller writes the colossalai run command line",
    "mpirun-by-controller": "The controller writes the mpirun command line, from mpiConfig or worker",
    "command-in-shell": "The controller joins command and args of the training container for a shell",
    "command-by-controller": "The controller can replace the command of the training container",
    "training-container-by-name": "The training container is the one of a fixed name, else the first one",
    "training-container-required": "Each replica needs a container of the name that the controller looks for",
    "first-worker-decides": "Without a replica of the main type worker-0 decides over the job",
    "master-has-rank-zero": "The master has rank 0, which one replica can have",
    "container-contract": "Pods need containers of fixed names",
    "no-workers-by-default": "The replica type Worker has no replicas unless it states their number",
    "launcher-replica": "A replica of the type launcher only starts the processes of the other replicas",
    "ssh": "The controller gives the Pods ssh keys and starts sshd in them",
    "ssh-mount-path": "The CR can state where the ssh keys are mounted (ssh.authMountPath)",
    "mpirun-by-user": "The command lines of the CR start mpirun, which starts the other replicas' processes",
    "hostfile": "The controller writes a hostfile with slots and names it in variables of Open MPI 4",
    "launched-over-ssh": "A launcher that the controller starts reaches the other replicas over ssh",
    # Traits of the end of a replica.
    "servers": "The Pods are servers, which run until the controller deletes them",
    "restarts-by-controller": "The controller restarts replicas as their restart policy says: Always,"
    " OnFailure or Never",
    "shared-retries": "One number limits the restarts of all replicas together (runPolicy.backoffLimit)",
    "unlimited-retries": "Without runPolicy.backoffLimit the number of restarts is unlimited",
    "fails-at-retry-limit": "A job fails when its restarts reach runPolicy.backoffLimit",
    "replica-restart-policy": "The restart policy of a replica type replaces that of its Pod template",
    "restart-limit": "Each replica type limits its restarts itself (restartPolicy.limit)",
    "exit-code-restarts": "A restart policy ExitCode restarts replicas by their exit codes",
    "exit-code-unlimited": "A restart policy ExitCode restarts replicas without a limit",
    "exit-code-waits": "With a restart policy ExitCode a failed replica is neither restarted nor reported",
    "negative-retries-fail": "A negative runPolicy.backoffLimit fails the job before it has Pods",
    "succeeds-without-main": "A main replica type with replicas: 0 makes the job succeed at once",
    "template-restart-policy-ignored": "The restart policy inside a Pod template has no effect",
}
