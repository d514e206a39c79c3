"""WorkflowTemplate: the job that it creates, as a field of its spec or as the text of a manifest.

Source: docs/evidence/t9k-api-history.md#workflow-templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Diagnostic
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Path
from podplan.core.typing import Any
from podplan.kinds.registry import T9K
from podplan.kubernetes.accessors import get_mapping, get_text

# The fields of its spec with the spec of a job, and the kind of that.
JOB_FIELDS = {
    "genericJob": "GenericJob",
    "tensorflowTrainingJob": "TensorFlowTrainingJob",
    "pytorchTrainingJob": "PyTorchTrainingJob",
    "xgboostTrainingJob": "XGBoostTrainingJob",
    "colossalaiJob": "ColossalAIJob",
    "deepspeedJob": "DeepSpeedJob",
    "mpiJob": "MPIJob",
    "beamJob": "BeamJob",
}
# docs/evidence/t9k-common.md#conditions, and those of a BeamJob of 2021: docs/evidence/t9k-beamjob.md#status.
CONDITIONS = ("Initialized", "Running", "ReplicaFailure", "Completed", "Failed", "Paused", "Resuming")
_CONDITIONS_OF_BEAM = ("ClusterRunning", "JobRunning")

_API_VERSION = compile_lazily(r"(?m)^apiVersion:[ \t]*[\"']?([^\s\"'#]+)")
_KIND = compile_lazily(r"(?m)^kind:[ \t]*[\"']?(\w+)")
_MANIFEST: Path = ("spec", "resource", "manifest")


def validate(data: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yield what is wrong with the manifest of a job of T9k, and with the conditions that end the step.

    The manifest may have parameters of the workflow anywhere, so its fields are not validated.
    """
    resource = get_mapping(get_mapping(data, "spec"), "resource")
    manifest = get_text(resource, "manifest")
    api_version, kind = _API_VERSION.search(manifest), _KIND.search(manifest)
    if api_version is None or kind is None or kind[1] not in T9K.packages:
        return
    if api_version[1] == T9K.group:
        message = f'the manifest has apiVersion "{T9K.group}", which has no version'
        yield Diagnostic("SCHEMA010", message, _MANIFEST, help=f"write apiVersion: {T9K.api_version}")
    for rules in ("successRules", "failureRules"):
        type_ = get_text(get_mapping(get_mapping(resource, rules), "conditionSelector"), "type")
        if type_ and type_ not in (*CONDITIONS, *_CONDITIONS_OF_BEAM):
            message = f'no {kind[1]} has a condition "{type_}", so these {rules} never apply'
            remedy = "write Completed or Failed, or remove both rules: T9k knows when its jobs end"
            path = ("spec", "resource", rules, "conditionSelector", "type")
            yield Diagnostic("SCHEMA004", message, path, help=remedy)
