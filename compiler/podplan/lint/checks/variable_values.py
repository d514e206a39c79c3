"""Values of variables that the library that reads them refuses or ignores.

Sources: https://docs.pytorch.org/docs/stable/notes/cuda.html#environment-variables (option:value,…),
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html,
https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug,
https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html,
https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use,
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py (CUDA_DEVICE_MAX_CONNECTIONS),
https://docs.jax.dev/en/latest/gpu_memory_allocation.html (a fraction of the memory),
https://www.openmp.org/spec-html/5.0/openmpse50.html (a positive number, or a list of them),
https://openucx.readthedocs.io/en/master/faq.html (UCX_NET_DEVICES),
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.jobs import has_isolated_replicas, spec_of
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.analysis.stated_variables import list_stated_variables
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


class ValueForm(NamedTuple):
    """The valid values of a variable, their description, and the effect of others."""

    pattern: str
    expected: str
    effect: str


# Options that have a fixed form; other names are those of other versions, except for common misspellings.
_ALLOCATOR_OPTION = (
    r"\s*(?:max_split_size_mb\s*:\s*(?:2[1-9]|[3-9]\d|\d{3,})"
    r"|garbage_collection_threshold\s*:\s*0?\.\d+"
    r"|(?:expandable_segments|release_lock_on_cudamalloc)\s*:\s*(?:True|False)"
    r"|backend\s*:\s*(?:native|cudaMallocAsync)"
    r"|roundup_power2_divisions\s*:\s*(?:\[[^\]]*\]|1|2|4|8|16|32|64)"
    r"|(?!(?:max_split\w*|garbage_\w*|expandable_\w*|release_lock_\w*|backend|roundup_power\w*)\s*:)"
    r"\w+\s*:\s*(?:\[[^\]]*\]|[^,=\s]+))\s*"
)
_ALLOCATOR = ValueForm(
    rf"{_ALLOCATOR_OPTION}(?:,{_ALLOCATOR_OPTION})*",
    "option:value pairs, separated by commas",
    "torch stops when it uses a GPU for the first time",
)
# Above 1 for the unified memory of GPU and host, as in AlphaFold (4.0); ten times the memory is a mistake.
_MEMORY_FRACTION = ValueForm(
    r"\s*\d?(?:\.\d*)?\s*",
    "a fraction, such as 0.90",
    "JAX takes it as that many times the memory of the GPU",
)
_INTERFACES = ValueForm(
    r"[^\^=!].*",
    "the name of an interface such as eth0; only NCCL reads ^ and =",
    "Gloo and TensorPipe find no interface of that name, and the processes stop",
)
_NAMES_AN_INTERFACE = r"(?![=^]?(?:eth|en[ospx]|bond|ib|net)\d)[\s\S]*"
_ALGORITHM = "(?i:Tree|Ring|Collnet|CollnetDirect|CollnetChain|NVLS|NVLSTree|PAT)"
_DISTANCE = ValueForm(
    r"(?i:LOC|NVL|PIX|PXB|P2C|PXN|PHB|NODE|SYS)|[0-5]", "NVL, PIX, PXB, PHB or SYS", "it is ignored"
)
_TORCH_NUMBER = ValueForm(r"\s*-?\d+\s*", "a whole number", "torch stops, or reads only the digits in front")
_TORCH_SWITCH = ValueForm(r"(?i:y|yes|1|t|true|n|no|0|f|false)", "1 or 0", "torch stops at its start")
_NCCL_NUMBER = ValueForm(
    r"\s*-?(?:0x[0-9A-Fa-f]+|\d+)\s*",
    "a whole number",
    "NCCL reads only the digits in front, and uses its default without any",
)
_NCCL_NUMBERS = """
    NCCL_IB_DISABLE NCCL_P2P_DISABLE NCCL_SHM_DISABLE NCCL_NVLS_ENABLE NCCL_COLLNET_ENABLE NCCL_CUMEM_ENABLE
    NCCL_DMABUF_ENABLE NCCL_BUFFSIZE NCCL_NTHREADS NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS NCCL_MIN_CTAS
    NCCL_MAX_CTAS NCCL_SOCKET_NTHREADS NCCL_NSOCKS_PERTHREAD NCCL_IB_GID_INDEX NCCL_IB_TC
    NCCL_IB_QPS_PER_CONNECTION NCCL_IB_PCI_RELAXED_ORDERING NCCL_NET_GDR_READ NCCL_IGNORE_CPU_AFFINITY
    NCCL_P2P_NET_CHUNKSIZE
"""
FORMS = {
    "PYTORCH_CUDA_ALLOC_CONF": _ALLOCATOR,
    "PYTORCH_ALLOC_CONF": _ALLOCATOR,
    "OMP_NUM_THREADS": ValueForm(r"\s*[1-9]\d*(?:\s*,\s*[1-9]\d*)*\s*", "a number above 0", "it is ignored"),
    "XLA_PYTHON_CLIENT_MEM_FRACTION": _MEMORY_FRACTION,
    "XLA_CLIENT_MEM_FRACTION": _MEMORY_FRACTION,
    "MKL_NUM_THREADS": ValueForm(r"\s*[1-9]\d*\s*", "a number above 0", "it is ignored"),
    "NCCL_DEBUG": ValueForm(
        r"(?i:none|version|warn|info|trace|abort)", "VERSION, WARN, INFO or TRACE", "it is ignored"
    ),
    "TORCH_DISTRIBUTED_DEBUG": ValueForm(
        r"(?i:off|info|detail)", "OFF, INFO or DETAIL", "torch stops at its start"
    ),
    "GLOO_SOCKET_IFNAME": _INTERFACES,
    "TP_SOCKET_IFNAME": _INTERFACES,
    "NCCL_IB_HCA": ValueForm(
        _NAMES_AN_INTERFACE, "the name of an adapter such as mlx5_0", "NCCL finds no adapter and uses sockets"
    ),
    "NCCL_DEBUG_SUBSYS": ValueForm(
        r"\^?\s*(?i:INIT|COLL|P2P|SHM|NET|GRAPH|TUNING|ENV|ALLOC|CALL|PROXY|NVLS|BOOTSTRAP|REG|PROFILE|RAS|ALL)"
        r"(?:\s*,\s*\w+)*\s*",
        "names such as INIT,NET, separated by commas",
        "it is ignored",
    ),
    "NCCL_IB_TIMEOUT": ValueForm(
        r"\d|[12]\d|3[01]", "a number up to 31", "NCCL waits without a timeout, or ignores it"
    ),
    "NCCL_IB_RETRY_CNT": ValueForm(r"[0-7]", "a number up to 7", "the adapter has 3 bits for it"),
    "NCCL_IB_SL": ValueForm(r"\d|1[0-5]", "a number up to 15", "InfiniBand has 16 service levels"),
    "NCCL_CROSS_NIC": ValueForm(r"[0-2]", "0, 1 or 2", "it is ignored"),
    "NCCL_P2P_LEVEL": _DISTANCE,
    "NCCL_NET_GDR_LEVEL": _DISTANCE,
    "NCCL_ALGO": ValueForm(
        rf"\^?(?:{_ALGORITHM})(?:\s*,\s*(?:{_ALGORITHM}))*|.*[:;].*",
        "Ring, Tree, CollnetDirect, CollnetChain, NVLS, NVLSTree or PAT",
        "NCCL stops or ignores it",
    ),
    "NCCL_PROTO": ValueForm(
        r"\^?(?i:LL|LL128|Simple)(?:\s*,\s*(?i:LL|LL128|Simple))*|.*[:;].*",
        "LL, LL128 or Simple",
        "NCCL stops or ignores it",
    ),
    "NCCL_NET": ValueForm(
        r"(?!(?i:infiniband|ib_?verbs|verbs|rdma|roce|tcp|sockets|ethernet|eth\d*)\Z).*",
        "IB, Socket or the name of a plugin",
        "NCCL finds no network of that name and stops",
    ),
    "NCCL_SOCKET_FAMILY": ValueForm(r"AF_INET6?", "AF_INET or AF_INET6", "it is ignored"),
    "NCCL_SOCKET_IFNAME": ValueForm(
        r"(?!\d+\.\d+\.\d+)[\s\S]*",
        "the name of an interface such as eth0",
        "NCCL compares it with names, finds no interface and stops",
    ),
    "CUDA_DEVICE_ORDER": ValueForm(
        r"FASTEST_FIRST|PCI_BUS_ID", "FASTEST_FIRST or PCI_BUS_ID", "CUDA ignores it"
    ),
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": _TORCH_NUMBER,
    "NCCL_ASYNC_ERROR_HANDLING": _TORCH_NUMBER,
    "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": _TORCH_NUMBER,
    "TORCH_NCCL_TRACE_BUFFER_SIZE": _TORCH_NUMBER,
    "TORCH_NCCL_BLOCKING_WAIT": _TORCH_SWITCH,
    "TORCH_NCCL_DUMP_ON_TIMEOUT": _TORCH_SWITCH,
    "TORCH_NCCL_ENABLE_MONITORING": _TORCH_SWITCH,
    "TORCH_CPP_LOG_LEVEL": ValueForm(
        r"[0-3]|(?i:info|warning|error|fatal)", "INFO, WARNING, ERROR or FATAL", "it is ignored"
    ),
    "WANDB_MODE": ValueForm(
        r"(?i:online|offline|disabled|dryrun|run|shared)?",
        "online, offline or disabled",
        "wandb stops at its start",
    ),
    "UCX_NET_DEVICES": ValueForm(
        r"(?!(?:.*,)?\s*mlx\d_\d+\s*(?:,|\Z)).*",
        "an adapter with its port such as mlx5_0:1",
        "UCX finds no device of that name",
    ),
    "JAX_PLATFORMS": ValueForm(
        r"(?!(?:.*,)?(?:(?i:nvidia)|CUDA|GPU|CPU|TPU)(?:,|\Z)).*",
        "cuda, rocm, tpu or cpu",
        "JAX finds no backend of that name and stops",
    ),
    "XLA_PYTHON_CLIENT_PREALLOCATE": ValueForm(
        r"(?i:true|false)|0|1", "true or false", "JAX takes it as true"
    ),
    "XLA_PYTHON_CLIENT_ALLOCATOR": ValueForm(
        r"(?i:default|platform|bfc|cuda_async)",
        "default, platform, bfc or cuda_async",
        "JAX stops at its start",
    ),
    "NVIDIA_DRIVER_CAPABILITIES": ValueForm(
        r"(?!\s*(?:utility|video|display)(?:\s*,\s*(?:utility|video|display))*\s*\Z).*",
        "compute,utility or all for programs that use CUDA",
        "the container has no libcuda",
    ),
    "PYTHONPATH": ValueForm(
        r"[^;]*", "folders separated by colons", "Python looks for one folder of that name"
    ),
    **dict.fromkeys(_NCCL_NUMBERS.split(), _NCCL_NUMBER),
}
_NAMES = frozenset((*FORMS, "CUDA_DEVICE_MAX_CONNECTIONS"))
_PATTERNS = {name: compile_lazily(form.pattern) for name, form in FORMS.items()}
_LOOPBACK = frozenset(("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"))
_LONGEST = 300  # longest value in a message, in characters
_WATCHDOG = frozenset(("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"))
_BLOCKING_WAIT = frozenset(("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"))


@check()
def variable_value(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable with an invalid value. Values: ``name``, ``value``, ``expected``, ``effect``."""
    job = target.job
    is_alone = sum(group.replicas for group in job.pods) < 2 or has_isolated_replicas(job)
    for stated in list_stated_variables(target.data, _NAMES):
        name, value, path = stated.name, stated.value, stated.path
        if not value or "$(" in value or len(value) > _LONGEST:
            continue
        form = FORMS.get(name)
        values = {"name": name, "value": value}
        if form is not None and not _PATTERNS[name].fullmatch(value):
            yield Violation(path, {**values, "expected": form.expected, "effect": form.effect})
        elif name in _LOOPBACK and value.lstrip("=") == "lo" and not is_alone:
            effect = "the Pods cannot connect to each other"
            expected = "an interface of the Pod network, such as eth0"
            yield Violation(path, {**values, "expected": expected, "effect": effect})
        elif name in _WATCHDOG and value == "0" and not is_alone and _waits_forever(target):
            effect = "when one process dies the others wait for it and keep their GPUs"
            expected = "1 or 3 in a job without a deadline"
            yield Violation(path, {**values, "expected": expected, "effect": effect})
        elif name == "CUDA_DEVICE_MAX_CONNECTIONS" and value != "1":
            option = _find_sequence_parallel(job)
            if option is not None:
                effect = (
                    "Megatron stops while it reads its arguments, unless the GPUs are of Blackwell or later"
                )
                expected = f"1 with {option.option.name}"
                related = [(option.doc, option.path, "what needs it")]
                yield Violation(path, {**values, "expected": expected, "effect": effect}, related)


def _waits_forever(target: Target) -> bool:
    """Whether processes of a job wait forever for one that has died."""
    names = {
        get_text(entry, "name")
        for _, entry in get_entries(target.data, "env")
        if get_text(entry, "value") == "1"
    }
    has_deadline = any(
        "activeDeadlineSeconds" in section
        for section in (
            get_mapping(spec_of(target.job), "runPolicy"),
            get_mapping(target.doc.data, "spec"),
        )
    )
    return target.job.cr is not None and not has_deadline and _BLOCKING_WAIT.isdisjoint(names)


def _find_sequence_parallel(job: LoweredJob) -> PlacedOption | None:
    """Return the option for Megatron's sequence parallelism, if tensors are split."""
    for launch in find_launches(job):
        options = {placed.option.last: placed for placed in list_program_options(job, launch)}
        switch, size = options.get("sequence_parallel"), options.get("tensor_model_parallel_size")
        if switch is not None and size is not None and switch.option.is_on and (size.option.number or 1) > 1:
            return switch
    return None
