"""TrainJobs and runtimes with fields of Trainer 2.1 and 2.2, as Trainer 2.3 reads them.

What differs between the versions: docs/evidence/trainer.md#versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import LoweringOptions
from podplan.core.typing import Any
from podplan.kinds.conversion import Conversion, ConversionInput, Copied, Decision, Replaced
from podplan.kinds.trainer.migration.runtimes import CLUSTER_KIND, find_node_pod
from podplan.kinds.trainer.versions import DEFAULT_VERSION
from podplan.kubernetes.quantities import UNITS_PER_ONE, parse_quantity

GROUP = "trainer.kubeflow.org"
_OLD_VERSION = "2.1"
_OVERRIDES = "podTemplateOverrides"
_OLD_FIELDS = (_OVERRIDES, "labels", "annotations")
_MANAGER = "podplan/migrate"
_PROCESSES = "PET_NPROC_PER_NODE"
_RESERVED = (_PROCESSES, "PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
_RUNTIME_FIELDS = {
    "numProcPerNode": "Trainer 2.2 and later drop it; a TrainJob that needs a number states it",
    "elasticPolicy": "Trainer 2.2 and later drop it, and it had no effect before",
}


def _has_old_fields(cr: Mapping[str, Any]) -> bool:
    """Whether a TrainJob has fields or values that Trainer 2.2 removed."""
    spec = cr["spec"]
    trainer = spec.get("trainer") or {}
    return any(spec.get(field) is not None for field in _OLD_FIELDS) or isinstance(
        trainer.get("numProcPerNode"), str
    )


def select_job_version(
    cr: Mapping[str, Any], documents: Sequence[TracedDocument], options: LoweringOptions
) -> LoweringOptions | None:
    """The options for a TrainJob as it is: those of 2.1 if it or its runtime has fields of it, else None."""
    is_stated = options.operator_versions.get(GROUP) in ("2.2", DEFAULT_VERSION)
    by_runtime = _find_runtime_processes(cr, documents) is not None and not is_stated
    trainer = cr["spec"].get("trainer")
    needs_number = by_runtime and trainer is not None and trainer.get("numProcPerNode") is None
    if _has_old_fields(cr) or needs_number:
        return _set_version(options, _OLD_VERSION)
    return None


def select_runtime_version(
    cr: Mapping[str, Any], _: Sequence[TracedDocument], options: LoweringOptions
) -> LoweringOptions | None:
    """The options for a runtime with fields that Trainer 2.2 removed, else None."""
    torch = (cr["spec"].get("mlPolicy") or {}).get("torch") or {}
    return _set_version(options, _OLD_VERSION) if any(field in torch for field in _RUNTIME_FIELDS) else None


def select_new_version(options: LoweringOptions) -> LoweringOptions:
    """The options for a TrainJob that was migrated: those of the version that is written."""
    return _set_version(options, DEFAULT_VERSION)


def _set_version(options: LoweringOptions, version: str) -> LoweringOptions:
    values = {**options.behavior_values.get(GROUP, {}), "version": version}
    return options._replace(behavior_values={**options.behavior_values, GROUP: values})


def convert_train_job(source: ConversionInput) -> Conversion:
    """A TrainJob for 2.1 as one for 2.3."""
    cr = source.cr.data
    spec = cr["spec"]
    decisions: list[Decision] = []
    new: dict[str, Any] = {}
    patches: list[tuple[Path, dict[str, Any]]] = list(_build_metadata_patch(spec))
    for at, override in enumerate(spec.get(_OVERRIDES) or ()):
        patches.append((("spec", _OVERRIDES, at), _build_patch(override, at)))
    trainer = _convert_trainer(source, decisions)
    for key in spec:
        if key == "trainer":
            new[key] = trainer if trainer is not None else Copied(("spec", key))
        elif key not in _OLD_FIELDS:
            new[key] = Copied(("spec", key))
    if trainer is not None and "trainer" not in new:
        new["trainer"] = trainer
    if patches:
        new["runtimePatches"] = [
            Replaced(path, {"manager": _MANAGER if not number else f"{_MANAGER}-{number + 1}", **patch})
            for number, (path, patch) in enumerate(patches)
        ]
        decisions.append(Decision(("spec",), "same", f"{_join(spec)} → runtimePatches"))
    document = {key: Copied((key,)) for key in cr if key not in ("spec", "status")}
    return Conversion({**document, "spec": new}, decisions=tuple(decisions))


def _join(spec: Mapping[str, Any]) -> str:
    return ", ".join(field for field in _OLD_FIELDS if spec.get(field) is not None)


def _build_metadata_patch(spec: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the patch with labels and annotations of the JobSet."""
    metadata = {key: Copied(("spec", key)) for key in ("labels", "annotations") if spec.get(key)}
    if metadata:
        yield (), {"trainingRuntimeSpec": {"template": {"metadata": metadata}}}


def _build_patch(override: Mapping[str, Any], at: int) -> dict[str, Any]:
    """An entry of podTemplateOverrides as a patch."""
    path: Path = ("spec", _OVERRIDES, at)
    pod = {key: Copied((*path, key)) for key in ("metadata", "spec") if override.get(key)}
    jobs = [
        {"name": one["name"], "template": {"spec": {"template": pod}}}
        for one in override.get("targetJobs") or ()
    ]
    return {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}


def _convert_trainer(source: ConversionInput, decisions: list[Decision]) -> dict[str, Any] | None:
    """``spec.trainer`` with numbers of processes as numbers; None if it stays as it is."""
    cr = source.cr.data
    trainer = cr["spec"].get("trainer") or {}
    path: Path = ("spec", "trainer")
    new: dict[str, Any] = {key: Copied((*path, key)) for key in trainer}
    processes, policy = trainer.get("numProcPerNode"), _find_runtime_processes(cr, source.documents)
    runtime_word = processes is None and policy is not None and "trainer" in cr["spec"]
    word = policy if runtime_word else processes
    if isinstance(word, str) and word.isdigit():
        word = int(word)
    if isinstance(word, int) and (runtime_word or isinstance(processes, str)):
        new["numProcPerNode"] = word
        if runtime_word:
            text = f"numProcPerNode {word} of the runtime is written here, since 2.2 removed it from runtimes"
            decisions.append(Decision(path if trainer else ("spec",), "same", text))
    elif isinstance(word, str):
        new.pop("numProcPerNode", None)
        count = _count_processes(source, word)
        if word == "auto":
            decisions.append(
                Decision((*path, "numProcPerNode"), "same", "numProcPerNode auto is the default now")
            )
        elif count:
            new["numProcPerNode"] = count
            text = f"numProcPerNode {word} → {count}, as the resources say"
            decisions.append(Decision((*path, "numProcPerNode"), "same", text))
        else:
            text = f"numProcPerNode {word} is no number: write how many processes run on a node"
            decisions.append(Decision((*path, "numProcPerNode"), "lost", text))
    old = list(_convert_variables(trainer, new, decisions))
    if len(old) != len(trainer.get("env") or ()):
        new.pop("env", None)
        if old:
            new["env"] = old
    if list(new) != list(trainer):
        others = [key for key in (*trainer, *new) if key != "numProcPerNode"]
        at = others.index("numNodes") + 1 if "numNodes" in others else 0
        order = trainer if "numProcPerNode" in trainer else [*others[:at], "numProcPerNode", *others[at:]]
        new = {key: new[key] for key in dict.fromkeys((*order, *new)) if key in new}
    same = {key: Copied((*path, key)) for key in trainer}
    return new if new != same else None


def _convert_variables(
    trainer: Mapping[str, Any], new: dict[str, Any], decisions: list[Decision]
) -> Iterator[Copied]:
    """Yield the variables that Trainer 2.3 accepts."""
    for at, entry in enumerate(trainer.get("env") or ()):
        name, path = entry.get("name"), ("spec", "trainer", "env", at)
        if name not in _RESERVED:
            yield Copied(path)
            continue
        value = str(entry.get("value") or "")
        if name == _PROCESSES and value.isdigit():
            new["numProcPerNode"] = Replaced(path, int(value))
            decisions.append(Decision(path, "same", f"{name} → numProcPerNode {value}"))
        else:
            text = (
                f"{name} is removed: Trainer sets it and refuses another; write the option of torchrun"
                " instead"
            )
            decisions.append(Decision(path, "lost", text))


def _find_runtime_processes(cr: Mapping[str, Any], documents: Sequence[TracedDocument]) -> str | int | None:
    """``numProcPerNode`` of the torch runtime of a TrainJob; None without one, and for auto."""
    policy = ((_find_runtime(cr, documents) or {}).get("spec") or {}).get("mlPolicy") or {}
    processes = (policy.get("torch") or {}).get("numProcPerNode")
    return None if processes in (None, "auto") else processes


def _find_runtime(cr: Mapping[str, Any], documents: Sequence[TracedDocument]) -> Mapping[str, Any] | None:
    reference = cr["spec"].get("runtimeRef") or {}
    wanted = (reference.get("kind") or CLUSTER_KIND, reference.get("name"))
    for doc in documents:
        runtime: Mapping[str, Any] = doc.data
        if (runtime["kind"], (runtime.get("metadata") or {}).get("name")) == wanted:
            return runtime
    return None


def _count_processes(source: ConversionInput, word: str) -> int:
    """How many processes cpu or gpu mean for the resources of a node; 0 if they do not say."""
    trainer = source.cr.data["spec"].get("trainer") or {}
    runtime = _find_runtime(source.cr.data, source.documents)
    found = find_node_pod(runtime) if runtime is not None else None
    resources = trainer.get("resourcesPerNode") or (found[2].get("resources") if found else None) or {}
    amounts = chain((resources.get("limits") or {}).items(), (resources.get("requests") or {}).items())
    for name, amount in amounts:
        if (name == "cpu") if word == "cpu" else ("gpu" in name.lower()):
            return -(-(parse_quantity(amount) or 0) // UNITS_PER_ONE)
    return 0


def convert_runtime(source: ConversionInput) -> Conversion:
    """A runtime without the fields that Trainer 2.2 removed."""
    cr = source.cr.data
    path: Path = ("spec", "mlPolicy", "torch")
    torch = cr["spec"]["mlPolicy"]["torch"]
    policy = {
        key: {one: Copied((*path, one)) for one in torch if one not in _RUNTIME_FIELDS}
        if key == "torch"
        else Copied(("spec", "mlPolicy", key))
        for key in cr["spec"]["mlPolicy"]
    }
    spec = {key: policy if key == "mlPolicy" else Copied(("spec", key)) for key in cr["spec"]}
    decisions = [
        Decision((*path, field), "same", f"{field} is removed: {_RUNTIME_FIELDS[field]}")
        for field in torch
        if field in _RUNTIME_FIELDS
    ]
    document = {key: spec if key == "spec" else Copied((key,)) for key in cr if key != "status"}
    return Conversion(document, decisions=tuple(decisions))
