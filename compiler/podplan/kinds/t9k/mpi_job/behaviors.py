"""Behaviors of the controller of MPIJob, in its three dialects."""

from __future__ import annotations

from podplan.core.provenance import Behavior

MPI_TRAINING_CONTAINER = Behavior(
    "mpi.training-container",
    "the training container of a worker is the one called worker, else the first",
    "documented",
    "docs/evidence/t9k-mpijob.md#training-container",
    "worker",
)
MPI_OLDER_TRAINING_CONTAINER = Behavior(
    "mpi.training-container-of-older-dialects",
    "in the dialects with worker, the training container is the one called mpi-worker, else the first",
    "documented",
    "docs/evidence/t9k-mpijob.md#training-container",
    "mpi-worker",
)
MPI_LAUNCHER_CONTAINER = Behavior(
    "mpi.launcher-container",
    "the container of the launcher is called launcher",
    "documented",
    "docs/evidence/t9k-mpijob.md#training-container",
    "launcher",
)
MPI_LAUNCHER = Behavior(
    "mpi.launcher",
    "one Pod called <base>-launcher runs mpirun",
    "documented",
    "docs/evidence/t9k-mpijob.md#host-names",
    "{base}-{type}",
    placeholders=("base", "job", "type"),
)
MPI_LAUNCHER_IMAGE = Behavior(
    "mpi.launcher-image",
    "a launcher without an image runs from the image of the workers, without their volumes and directory",
    "assumed",
    "docs/evidence/t9k-mpijob.md#template-of-the-launcher",
)
MPI_LAUNCHER_TEMPLATE = Behavior(
    "mpi.launcher-template",
    "in the dialects with worker, its template is that of the launcher too, but for the resources",
    "documented",
    "docs/evidence/t9k-mpijob.md#template-of-the-launcher",
)
MPI_LAUNCHER_RESOURCES = Behavior(
    "mpi.launcher-resources",
    "a launcher without resources requests 100m CPU and 100Mi of memory, and has twice as much as limits",
    "documented",
    "docs/evidence/t9k-mpijob.md#resources-of-the-launcher",
    {
        "requests": {"cpu": "100m", "memory": "100Mi"},
        "limits": {"cpu": "200m", "memory": "200Mi"},
    },
)
MPI_SERVICE = Behavior(
    "mpi.service-name",
    "one headless Service per job, called <base>-worker, gives the workers their names",
    "documented",
    "docs/evidence/t9k-mpijob.md#host-names",
    "{base}-worker",
    placeholders=("base", "job"),
)
MPI_SERVICE_SELECTOR = Behavior(
    "mpi.service-selector",
    "the Service finds the workers by the labels of the job and of the replica type",
    "assumed",
    "docs/evidence/t9k-mpijob.md#labels",
    {"app": "{job}", "mpi-job": "{job}", "replica-type": "{type}"},
    placeholders=("base", "job", "kind", "component", "type"),
)
MPI_HOST = Behavior(
    "mpi.host",
    "the launcher reaches a worker by the names of its Pod and of the Service",
    "documented",
    "docs/evidence/t9k-mpijob.md#host-names",
    "{pod}.{service}",
    placeholders=("pod", "service", "base", "job", "namespace"),
)
MPI_LABELS = Behavior(
    "mpi.labels",
    "Pods have the labels app and mpi-job with the name of the job",
    "documented",
    "docs/evidence/t9k-mpijob.md#labels",
)
MPI_REPLICA_LABELS = Behavior(
    "mpi.replica-labels",
    "the labels replica-type and replica-index tell the replica, as for the other kinds",
    "assumed",
    "docs/evidence/t9k-mpijob.md#labels",
)
MPI_HOSTFILE_PATH = Behavior(
    "mpi.hostfile-path",
    "the hostfile is at /etc/mpi/hostfile in the launcher",
    "anchored",
    "docs/evidence/t9k-mpijob.md#hostfile-keys-and-launcher-environment",
    "/etc/mpi/hostfile",
)
MPI_HOSTFILE_LINE = Behavior(
    "mpi.hostfile-line",
    "a line of the hostfile is the host alone, so that Open MPI takes the number of cores for its slots",
    "assumed",
    "docs/evidence/t9k-mpijob.md#slots",
    "{host}",
    placeholders=("host",),
)
MPI_LAUNCHER_ENV = Behavior(
    "mpi.launcher-env",
    "the launcher has variables with the hostfile, for long host names, for ssh, and against GPUs",
    "anchored",
    "docs/evidence/t9k-mpijob.md#hostfile-keys-and-launcher-environment",
    {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": "{hostfile}",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "NVIDIA_VISIBLE_DEVICES": "",
        "NVIDIA_DRIVER_CAPABILITIES": "",
    },
    placeholders=("hostfile", "base", "job"),
)
MPI_SHELL = Behavior(
    "mpi.shell",
    "the script of the launcher is run by sh",
    "assumed",
    "docs/evidence/t9k-mpijob.md#start-of-the-launcher",
    ["/bin/sh", "-c"],
)
MPI_SCRIPT = Behavior(
    "mpi.script",
    "the launcher waits until the names of all workers resolve, says so, and runs mpirun",
    "assumed",
    "docs/evidence/t9k-mpijob.md#start-of-the-launcher",
    'while read -r host _; do until getent hosts "$host" > /dev/null; do sleep 1; done; done < {hostfile}\n'
    'echo "services are ready!"\nexec {mpirun}',
    placeholders=("mpirun", "hostfile"),
)
MPI_MPIRUN = Behavior(
    "mpi.mpirun",
    "mpirun gets the installation path by --prefix, before the MCA parameters",
    "assumed",
    "docs/evidence/t9k-mpijob.md#options-of-mpirun",
    ["mpirun", "--prefix {home}"],
    placeholders=("home", "hostfile", "replicas", "base", "job"),
)
MPI_MCA = Behavior(
    "mpi.mca",
    "each entry of mca becomes an option, in the order of its names",
    "documented",
    "docs/evidence/t9k-mpijob.md#options-of-mpirun",
    ["-mca {name} {value}"],
    placeholders=("name", "value"),
)
MPI_ENV_OPTIONS = Behavior(
    "mpi.env-options",
    "mpirun gets an option to pass on each variable of the workers",
    "assumed",
    "docs/evidence/t9k-mpijob.md#environment-of-the-ranks",
    ["-x {name}"],
    placeholders=("name",),
)
MPI_PASSED_ENV = Behavior(
    "mpi.passed-env",
    "the launcher has the variables of the workers, since mpirun passes on its own",
    "assumed",
    "docs/evidence/t9k-mpijob.md#environment-of-the-ranks",
)
MPI_PROCESS_OPTIONS = Behavior(
    "mpi.options-of-processes",
    "processesPerWorker and processRecovery become options of mpirun, which may run as root then",
    "assumed",
    "docs/evidence/t9k-mpijob.md#options-of-the-oldest-dialect",
    ["--allow-run-as-root", "-N {processes}", "--enable-recovery --max-restarts {restarts}"],
    placeholders=("processes", "restarts"),
)
MPI_DEBUG = Behavior(
    "mpi.debug-command",
    "in debug mode the workers run sshd, at the path that images have, unless another command is given",
    "assumed",
    "docs/evidence/t9k-mpijob.md#debug-mode",
    ["/usr/sbin/sshd", "-D"],
)
MPI_MIN_MEMBER = Behavior(
    "mpi.min-member",
    "minMember counts the launcher and the workers",
    "assumed",
    "docs/evidence/t9k-mpijob.md#minimum-members",
    "all",
    ("all", "workers"),
)

# How a profile becomes a job.
MPI_PROFILE_PROCESSES = Behavior(
    "profile.mpi-processes",
    "processes of a profile becomes -N, the processes that mpirun starts on each worker",
    "documented",
    "docs/profile-fields.md; docs/evidence/mpirun.md",
)
