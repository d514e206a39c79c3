"""Jobs with a runtime: fields that the controller refuses, and settings that do not train as intended.

Source: docs/evidence/trainer.md#pitfalls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.spec import KUEUE_QUEUE_LABEL
from podplan.kinds.trainer.job import TrainJob, build_train_job
from podplan.kinds.trainer.job_set_template import (
    ANCESTOR_LABEL,
    LAUNCHER,
    NODE,
    TRAINER_STEP,
    TemplateJob,
    iter_amounts,
    parse_jobs,
)
from podplan.kinds.trainer.lower import count_nodes
from podplan.kinds.trainer.processes import resolve_torch_processes
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.commands import AccelerateCommand
from podplan.launchers.discovery import Invocation, find_programs
from podplan.launchers.scripts import find_script_error
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.resources import count_accelerators
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

_RUNTIME: Path = ("spec", "runtimeRef", "name")
_SUPPORT_LABEL, _DEPRECATED = "trainer.kubeflow.org/support", "deprecated"
# With these, torch.distributed finds the other processes without torchrun.
_RENDEZVOUS_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
_PROCESS_STARTERS = ("torchrun", "torch.distributed", "PET_", "tune")
# Packages with launchers as modules; a module of theirs that is none does not exist.
_LAUNCHER_PACKAGES = ("torch", "accelerate", "deepspeed", "colossalai", "horovod")
_VARIABLES = {"torch": "PET_NNODES", "jax": "JAX_NUM_PROCESSES", "xgboost": "DMLC_NUM_WORKER"}
_POLICY_LABEL = "the policy of the runtime"


class JobWithRuntime(NamedTuple):
    """A job with its runtime, its replicated jobs with their numbers of nodes, and the one that trains."""

    train_job: TrainJob
    jobs: list[TemplateJob]
    trainer: TemplateJob | None

    @property
    def nodes(self) -> int:
        """The nodes that train together."""
        return self.trainer.nodes.value if self.trainer is not None else 0

    def find_policy(self, *names: str) -> Cursor | None:
        """The first policy of the runtime with one of these names that this version of the controller has."""
        policies = (
            self.train_job.policy.get(name) for name in names if name in self.train_job.version.policies
        )
        return next((one for one in policies if one.exists), None)


_TRAINER_FIELDS = ("image", "command", "args", "env", "resourcesPerNode", "numNodes")
_LABEL_PATH = ("template", "metadata", "labels", ANCESTOR_LABEL)


@cache_latest
def _find_runtime(job: LoweredJob) -> JobWithRuntime | None:
    runtime = next(iter(job.references.values()), None)
    if job.cr is None or runtime is None:
        return None
    group = str(job.cr.data.get("apiVersion")).rpartition("/")[0]
    train_job = build_train_job(root_cursor(job.cr), runtime, job.options._replace(group=group))
    jobs = count_nodes(train_job, parse_jobs(train_job.template))
    trainer = next((one for one in jobs if one.ancestor == TRAINER_STEP), None)
    return JobWithRuntime(train_job, jobs, trainer)


def _relate(place: Cursor, label: str) -> list[tuple[TracedDocument, Path, str]]:
    return [(place.doc, place.path, label)]


@check()
def deprecated_runtime(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A runtime that is labelled as deprecated. No values."""
    found = _find_runtime(target.job)
    label = found.train_job.runtime.get("metadata", "labels", _SUPPORT_LABEL) if found is not None else None
    if label is not None and label.value == _DEPRECATED:
        yield Violation(_RUNTIME, related=_relate(label, "the label of the runtime"))


@check()
def variables_without_trainer(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several nodes without the section that makes the controller set variables. Values: ``nodes``,
    ``variable``."""
    found = _find_runtime(target.job)
    policy = found.find_policy(*_VARIABLES) if found is not None else None
    if found is None or policy is None or found.train_job.trainer.exists or found.nodes < 2:
        return
    values = {"nodes": found.nodes, "variable": _VARIABLES[str(policy.path[-1])]}
    yield Violation(_RUNTIME, values, _relate(policy, _POLICY_LABEL))


@check()
def trainer_not_labelled(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Fields of spec.trainer for a runtime without a job that trains. Values: ``field``, ``what``."""
    found = _find_runtime(target.job)
    if found is None or found.trainer is not None or not found.jobs:
        return
    train_job = found.train_job
    fields = [one for one in _TRAINER_FIELDS if train_job.trainer.get(one).exists]
    node = next((one.entry for one in found.jobs if one.name == NODE), found.jobs[-1].entry)
    own = node.get(*_LABEL_PATH)
    if fields:
        what = (
            f'its label says "{own.value}"' if own.exists else f"{node.get('name').value} has no such label"
        )
        place = own if own.exists else node.get("name")
        values = {"field": fields[0], "what": what}
        yield Violation(("spec", "trainer", fields[0]), values, _relate(place, "the job that trains"))


@check()
def lone_python(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A python that reads none of the variables of the runtime, on several nodes. Values: ``program``,
    ``nodes``."""
    found = _find_runtime(target.job)
    policy = found.find_policy("torch") if found is not None else None
    if found is None or found.trainer is None or policy is None:
        return
    if not found.train_job.trainer.exists or found.nodes < 2:
        return
    place, words = _find_command(found.train_job, found.trainer)
    program = _find_lone_program(target.job, found.trainer)
    if program and not any(starter in word for word in words for starter in _PROCESS_STARTERS):
        path = place.path if place.doc is found.train_job.cr.doc else _RUNTIME
        values = {"program": program, "nodes": found.nodes}
        yield Violation(path, values, _relate(policy, _POLICY_LABEL))


def _find_lone_program(job: LoweredJob, trainer: TemplateJob) -> str:
    """The last program of the container that trains, if all its programs run without other nodes; else "".

    A program that is no launcher known to podplan may read the variables.
    """
    name = trainer.entry.get("name").value
    pods = (group.doc.data for group in job.pods if group.replica_type == name)
    containers = (one for pod in pods for _, one in get_entries(get_mapping(pod, "spec"), "containers"))
    container = next((one for one in containers if get_text(one, "name") == NODE), None)
    if container is None:
        return ""
    programs = [_describe_lone(one, container) for one in find_programs(container).invocations]
    return programs[-1] if programs and all(programs) else ""


def _describe_lone(invocation: Invocation, container: Mapping[str, Any]) -> str:
    """A program that only knows its own node; "" for one that may know others, or does not start at all."""
    program, script = invocation.program_word.base_name, invocation.script
    if invocation.is_conditional or set(invocation.variables).issuperset(_RENDEZVOUS_VARIABLES):
        return ""
    if isinstance(invocation.parsed, AccelerateCommand):
        return "accelerate" if _is_single_process(invocation.parsed, container) else ""
    if invocation.launcher == "other":
        return program if program.endswith(".py") else ""  # as uv run starts it
    if invocation.launcher != "python" or script is None:
        return ""
    is_module = script.text.partition(".")[0] in _LAUNCHER_PACKAGES
    is_file = not any(word.text in ("-m", "-c") for word in invocation.words)
    is_broken = is_file and find_script_error("python", script, invocation.arguments, is_module=False)
    return "" if is_module or is_broken else program


def _is_single_process(command: AccelerateCommand, container: Mapping[str, Any]) -> bool:
    """Whether accelerate starts the script without torch.distributed.run, which reads the variables."""
    if command.config_file is not None or not command.command_line.is_certain or (command.machines or 1) > 1:
        return False
    if "cpu" in command.flags:
        return True
    is_one = command.processes == 1 or count_accelerators(container).number < 2
    return is_one and not command.flags & {"multi_gpu", "use_fsdp", "use_deepspeed", "tpu"}


def _find_node_container(job: TemplateJob) -> Cursor | None:
    """The container that trains, as the runtime has it with the patches."""
    containers = job.entry.get("template", "spec", "template", "spec", "containers").entries()
    return next((one for one in containers if one.get("name").value == NODE), None)


def _find_command(train_job: TrainJob, job: TemplateJob) -> tuple[Cursor, list[str]]:
    """The command of the container that trains, with its arguments, and where it is written."""
    container = _find_node_container(job)
    fields = []
    for field in ("command", "args"):
        own = train_job.trainer.get(field)
        fields.append(own if own.value or container is None else container.get(field))
    words = [word for one in fields for word in one.value_or([]) if isinstance(word, str)]
    return fields[0], words


@check()
def coordinator_outside_subdomain(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A subdomain of the runtime, which the host in the variables does not have. Values: ``host``,
    ``subdomain``."""
    found = _find_runtime(target.job)
    policy = found.find_policy(*_VARIABLES) if found is not None else None
    if found is None or policy is None or not found.train_job.trainer.exists or found.nodes < 2:
        return
    subdomain = found.train_job.template.get("spec", "network", "subdomain")
    if subdomain.value and subdomain.value != found.train_job.name:
        values = {"host": found.train_job.coordinator, "subdomain": subdomain.value}
        yield Violation(_RUNTIME, values, _relate(subdomain, "the subdomain in the runtime"))


@check()
def runtime_gpus_not_counted(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Resources of a job without the GPUs that its runtime has. Values: ``resource``, ``effect``."""
    found = _find_runtime(target.job)
    if found is None or found.trainer is None or found.find_policy("torch") is None:
        return
    train_job, container = found.train_job, _find_node_container(found.trainer)
    resources = train_job.trainer.get("resourcesPerNode")
    if container is None or not resources.exists or _states_processes(train_job):
        return
    if any(_is_gpu(name) for _, name, _ in iter_amounts(resources.value)):
        return
    for section, name, amount in iter_amounts(container.get("resources").value):
        if _is_gpu(name):
            effect = (
                f"the node keeps {name}: {amount}, and the number of processes is that of the CPUs"
                if train_job.version.merges_resources
                else f"the node loses {name}: {amount}"
            )
            related = _relate(container.get("resources", section, name), "the GPUs of the runtime")
            yield Violation(resources.path, {"resource": name, "effect": effect}, related, at_key=True)
            return


def _is_gpu(resource: str) -> bool:
    """Whether the controller takes a resource for a GPU."""
    return "gpu" in resource.lower()


def _states_processes(train_job: TrainJob) -> bool:
    return (
        train_job.trainer.get("numProcPerNode").exists
        or train_job.policy.get("torch", "numProcPerNode").exists
    )


@check()
def unexpected_node_count(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """More nodes of MPI than the job states, or several launchers. Values: ``effect``, ``reason``."""
    found = _find_runtime(target.job)
    policy = found.find_policy("mpi") if found is not None else None
    if found is None or policy is None or found.trainer is None:
        return
    written = found.train_job.trainer.get("numNodes")
    as_node = policy.get("runLauncherAsNode").value is True
    if as_node and written.value == 1 and any(one.name == NODE for one in found.jobs):
        values = {
            "effect": "numNodes 1 makes 2 nodes",
            "reason": "the launcher is one, and there is always another one",
        }
        yield Violation(written.path, values, _relate(policy, _POLICY_LABEL))
    for job in found.jobs:
        launchers = job.nodes.value
        if job.name == LAUNCHER and launchers > 1:
            values = {
                "effect": f"the runtime makes {launchers} launchers, each of which starts all processes",
                "reason": "mlPolicy.numNodes of a runtime for MPI is the number of launchers",
            }
            count = found.train_job.policy.get("numNodes")
            yield Violation(_RUNTIME, values, _relate(count, "the number of nodes in the runtime"))


@check()
def patch_hits_nothing(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A patch of a job or a container that the runtime does not have. Values: ``what``, ``known``,
    ``effect``."""
    found = _find_runtime(target.job)
    if found is None or not found.train_job.version.has_patches:
        return
    template = found.train_job.runtime.get("spec", "template", "spec")
    jobs = {one.get("name").value: one for one in template.get("replicatedJobs").entries()}
    for patch in found.train_job.spec.get("runtimePatches").entries():
        for job in patch.get("trainingRuntimeSpec", "template", "spec", "replicatedJobs").entries():
            name = job.get("name")
            if name.value not in jobs:
                adds = found.train_job.version.adds_patched_jobs
                values = {
                    "what": f'a job "{name.value}"',
                    "known": _list_names(jobs),
                    "effect": _REFUSED if adds else "the patch changes nothing",
                }
                yield Violation(name.path, values, _relate(template, "the jobs of the runtime"))
                continue
            pod = jobs[name.value].get("template", "spec", "template", "spec")
            for field in ("initContainers", "containers"):
                known = [one.get("name").value for one in pod.get(field).entries()]
                for container in job.get("template", "spec", "template", "spec", field).entries():
                    own = container.get("name")
                    if own.value not in known:
                        values = {
                            "what": f'a container "{own.value}" in the job {name.value}',
                            "known": _list_names(known),
                            "effect": _REFUSED,
                        }
                        yield Violation(own.path, values, _relate(pod, "the containers of the runtime"))


@check()
def queue_without_patches(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A job of a queue for a version without the patches by which Kueue starts it. Value ``reason``."""
    found = _find_runtime(target.job)
    if found is None:
        return
    label = found.train_job.cr.get("metadata", "labels", KUEUE_QUEUE_LABEL)
    overrides = found.train_job.spec.get("podTemplateOverrides")
    if label.exists and overrides.exists:
        yield Violation(overrides.path, {"reason": "podTemplateOverrides is a field of 2.1"})
    elif label.exists and not found.train_job.version.has_patches:
        yield Violation(label.path, {"reason": "the configuration states this version"})


_REFUSED = "the patch adds it without an image, which is refused"


def _list_names(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names)) or "none"


@check()
def processes_by_cpus(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """torchrun on nodes without a device, which starts a process for each CPU. Values: ``processes``."""
    found = _find_runtime(target.job)
    if found is None or found.trainer is None or found.find_policy("torch") is None:
        return
    if not found.train_job.trainer.exists or _states_processes(found.train_job):
        return
    processes, causes = resolve_torch_processes(found.train_job, found.trainer)
    for launch in find_launches(target.job):
        facts = launch.torchrun
        if facts is None or facts.processes != processes or not processes.isdigit() or int(processes) < 2:
            continue
        if not count_accelerators(launch.container).number:
            cpus = next((one for one in causes if isinstance(one, Cursor)), None)
            related = _relate(cpus, "the CPUs") if cpus is not None else []
            path = ("spec", "trainer")
            yield Violation(path, {"processes": processes}, related, at_key=True)
            return
