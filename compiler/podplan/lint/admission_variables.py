"""Variables in CEL that the admission sections of policies use, by what they look at.

Those of a CR repeat podplan.lint.analysis.jobs and .training: the replica types of a job, its number of Pods,
and its training container. A variable uses only those before it. Every loop is over a list that somebody
wrote: replica types, containers, volumes, variables. The API server refuses a list or mapping with values of
several types; dyn() gives them one type.
"""

from __future__ import annotations

from collections.abc import Mapping

from podplan.kinds.registry import PACKAGES, load_spec
from podplan.lint.kind_conditions import fill_kind_conditions

# The pattern of podplan.lint.analysis.resources.
_ACCELERATOR_PATTERN = (
    r"""r'^(nvidia\.com/(gpu(\.shared)?|mig-.+)|amd\.com/gpu|gpu\.intel\.com/(i915|xe)|habana\.ai/gaudi"""
)
_ACCELERATOR_PATTERN += r"""|hygon\.com/dcu|huawei\.com/Ascend\w+|cambricon\.com/mlu\w*|google\.com/tpu"""
_ACCELERATOR_PATTERN += r"""|aws\.amazon\.com/neuron\w*)$'"""

_CR_VARIABLES = {
    "accelerator": _ACCELERATOR_PATTERN,
    "debug": "object.spec.?runMode.?debug.?enabled.orValue(false)",
    "paused": "object.spec.?runMode.?pause.?enabled.orValue(false)",
    "torchrun": "object.spec.?torchrunConfig.?enabled.orValue(false)",
    "scheduled": "object.spec.?scheduler.?t9kScheduler.hasValue()",
    # The entries that have replicas; a launcher may be a container without a template.
    "roles": """
        object.spec.?replicaSpecs.orValue([])
        + ['launcher', 'worker'].filter(k, k in object.spec).map(k, object.spec[k])
    """,
    "elastic": """
        object.spec.?elastic.?enabled.orValue(false) && has(object.spec.elastic.expectedReplicas)
        && (variables.torchrun || kindHas('deepspeed-by-controller'))
    """,
    "workers": """
        !kindHas('launcher-replica') ? variables.roles
        : variables.roles.filter(r, has(r.template) && r.?type.orValue('worker') == 'worker')
    """,
    # How many Pods there are in all; there is one launcher, also where the CR states none.
    "replicas": """
        variables.elastic ? int(object.spec.elastic.expectedReplicas)
        : variables.workers.map(r, int(r.?replicas.orValue(1))).sum()
        + (kindHas('launcher-replica') ? 1 : 0)
    """,
    # The roles that have Pods now, and those of them with devices that train.
    "running": """
        variables.roles.filter(r, !variables.paused && (variables.elastic || r.?replicas.orValue(1) > 0))
    """,
    "gpu_containers": """
        variables.roles.map(r, r.?template.?spec.?containers.orValue([r]).filter(c,
        ['limits', 'requests'].exists(s, c.?resources[?s].orValue({}).exists(k,
        k.matches(variables.accelerator) && isQuantity(string(c.resources[s][k]))
        && quantity(string(c.resources[s][k])).asApproximateFloat() >= 1.0))))
    """,
    "gpu_roles": """
        variables.running.filter(r, variables.gpu_containers.exists(l, l.exists(c,
        c in r.?template.?spec.?containers.orValue([r]))))
    """,
    # The container of each role that trains: the one that the controller looks for by name, else the first.
    "trained": """
        variables.roles.filter(r, r.?template.?spec.?containers.orValue([r]).size() > 0).map(r, {
        'role': dyn(r), 'type': dyn(r.?type.orValue(has(r.template) ? 'worker' : 'launcher')),
        'pod': dyn(r.?template.?spec.orValue({})),
        'container': dyn((r.?template.?spec.?containers.orValue([r]).filter(c,
        c.?name.orValue('') == TRAINING_CONTAINERS[?object.kind]
        .orValue(r.?type.orValue('worker'))) + r.?template.?spec.?containers.orValue([r]))[0])})
    """,
    # The names of the variables of the ssh kinds. Each one of a worker is compared with those of the
    # launcher, and with patterns: above these sizes that costs more than the API server allows.
    "launcher_containers": "variables.trained.filter(t, t.type == 'launcher').map(t, t.container)",
    "launcher_names": "variables.launcher_containers.map(c, c.?env.orValue([]).map(e, e.name))",
    "worker_names": """
        variables.trained.filter(t, t.type == 'worker').map(t, t.container.?env.orValue([]).filter(e,
        !kindHas('colossalai-by-controller') || !e.?valueFrom.?resourceFieldRef.hasValue()
        && e.?valueFrom.?fieldRef.?fieldPath.orValue('metadata.namespace') in ['metadata.namespace',
        'spec.serviceAccountName']).map(e, e.name))
    """,
    "too_many_names": """
        variables.worker_names.exists(l, l.size() > 2000 || l.join('').size() > 60000
        || variables.launcher_names.exists(known, l.size() * known.size() > 500000))
    """,
    "training": """
        variables.trained.filter(t, !variables.paused
        && (variables.elastic || t.role.?replicas.orValue(1) > 0))
    """,
    # The images of the Pods, with how many Pods have them; a launcher without one has that of the workers.
    "images": """
        variables.running.filter(r, r in variables.workers).map(r, {
        'pods': dyn(!variables.elastic ? r.?replicas.orValue(1)
        : variables.roles.size() == 1 ? variables.replicas : 0),
        'images': dyn((r.?template.?spec.?containers.orValue([])
        + (variables.debug && object.spec.runMode.debug.?replicaSpecs.orValue([]).exists(e,
        e.?type.orValue('') == r.?type.orValue('worker') && e.?skipInitContainer.orValue(false)) ? []
        : r.?template.?spec.?initContainers.orValue([]))).map(c, c.?image.orValue('')))})
        + (!kindHas('launcher-replica') || variables.paused ? [] : [{'pods': dyn(1), 'images':
        dyn(variables.trained.map(t, t.type == 'launcher' || !variables.trained.exists(l,
        l.type == 'launcher' && l.container.?image.orValue('') != '')
        ? t.container.?image.orValue('') : ''))}])
    """,
    # What each has in memory at /dev/shm, and the memory limit of its Pod, in bytes; -1 for no limit.
    "shm": """
        variables.training.map(t, t.pod.?volumes.orValue([]).filter(v,
        v.?emptyDir.?medium.orValue('') == 'Memory' && t.container.?volumeMounts.orValue([]).exists(m,
        m.name == v.name && m.mountPath.matches('^/dev/shm/*$')))
        .map(v, {'size': quantity(string(v.emptyDir.?sizeLimit.orValue('-1'))).asApproximateFloat(),
        'memory': t.pod.?resources.?limits.?memory.hasValue()
        ? quantity(string(t.pod.resources.limits.memory)).asApproximateFloat()
        : t.pod.containers.all(c, c.?resources.?limits.?memory.hasValue()) ? t.pod.containers
        .map(c, quantity(string(c.resources.limits.memory)).asApproximateFloat()).sum() : -1.0}))
    """,
}
_POD_VARIABLES = {
    "accelerator": _ACCELERATOR_PATTERN,
    # Three lists of one Go type, whose elements have three types in CEL: without dyn() they do not add up.
    "template_containers": """
        dyn(object.spec.?initContainers.orValue([])) + dyn(object.spec.containers)
    """,
    "containers": """
        variables.template_containers + dyn(object.spec.?ephemeralContainers.orValue([]))
    """,
    # The securityContext of the Pod and those of its containers, as far as they have one.
    "contexts": """
        (has(object.spec.securityContext) ? [object.spec.securityContext] : [])
        + variables.containers.filter(c, has(c.securityContext)).map(c, c.securityContext)
    """,
}


def _fill(text: str) -> str:
    return fill_kind_conditions(" ".join(text.split()).replace("TRAINING_CONTAINERS", _list_containers()))


def _list_containers() -> str:
    """The name of the training container by kind, as CEL; elsewhere it is that of the replica type."""
    names = {
        kind.kind: str(behavior.value) if behavior is not None else ""
        for kind in PACKAGES
        for behavior in (load_spec(kind).training_container,)
    }
    return "{" + ", ".join(f"'{kind}': '{name}'" for kind, name in names.items() if name != "worker") + "}"


ADMISSION_VARIABLES: Mapping[str, Mapping[str, str]] = {
    level: {name: _fill(text) for name, text in known.items()}
    for level, known in (("cr", _CR_VARIABLES), ("lowered", _POD_VARIABLES))
}
