"""Data-parallel training of torch in scripts whose text is known: the backend and the data of the processes.

Sources:
https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use (NCCL for training on GPUs),
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler (each process
reads a part of the data).
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import list_replica_places
from podplan.lint.analysis.resources import count_accelerators
from podplan.lint.checks.python_sources import (
    PythonSource,
    find_constants,
    find_values,
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.source_ranks import count_processes_of_source, may_differ
from podplan.lint.target import Target, Violation

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
_WRAPPERS = ("DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP", "fully_shard")
_DATA_PARALLEL = ("DistributedDataParallel", "DDP", "hvd.DistributedOptimizer")
_TO_GPU = ("set_device", "cuda")
# Words of scripts that divide the data in another way, or whose ranks have the same data on purpose.
_OTHER_TEXT = """
    sampler split_dataset_by_node shard subset iterable webdataset streaming accelerat lightning .prepare(
    mesh pipeline tensor_parallel tensor_model context_parallel sequence_parallel ffcv dali
"""
_OTHERS = tuple(_OTHER_TEXT.split())
_SEEDS = ("manual_seed", "manual_seed_all", "seed_everything", "set_seed", "seed")


@check(requires=(PYTHON_TEXT,))
def gloo_between_gpus(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Gradients of models on GPUs that gloo exchanges. Values: ``script``, ``processes``."""
    seen: set[Path] = set()
    for source in list_python_sources(target.job):
        amount = count_accelerators(source.where.container)
        call = _find_gloo(source) if amount.number and amount.resource in _GPUS else None
        numbers = count_processes_of_source(target.job, source) if call is not None else None
        if call is None or numbers is None or amount.path is None or _selects_slices(source):
            continue
        place = source.locate(call)
        if place in seen or numbers.size < 2 or numbers.per_pod > amount.number:
            continue  # processes that share a GPU cannot use NCCL
        seen.add(place)
        values = {
            "script": source.name,
            "processes": format_count(numbers.size, "process", "processes"),
        }
        related = [(source.where.group.doc, (*source.where.base, *amount.path), "the GPUs of each Pod")]
        yield Violation(place, values, related, doc=source.doc, group=source.group)


def _selects_slices(source: PythonSource) -> bool:
    """Whether the Pods select nodes whose GPUs are slices or shared, between which NCCL may not work."""
    selector = get_mapping(get_mapping(source.where.group.doc.data, "spec"), "nodeSelector")
    text = " ".join(f"{key}={value}" for key, value in selector.items()).lower()
    return "mig" in text or "shar" in text or "slic" in text


def _find_gloo(source: PythonSource) -> ast.Call | None:
    """Return the only call that makes a process group, if it is one of gloo for models on GPUs."""
    text = source.text.lower()
    if text.count("init_process_group(") != 1 or "nccl" in text or "new_group" in text:
        return None
    constants = find_constants(source.tree)
    found: ast.Call | None = None
    is_on_gpus = is_wrapped = False
    for statement in iter_certain_statements(source.tree, with_loops=True):
        for node in iter_certain_expressions(statement):
            if not isinstance(node, ast.Call):
                continue
            last = node.func.attr if isinstance(node.func, ast.Attribute) else get_dotted_name(node.func)
            is_wrapped |= last in _WRAPPERS
            is_on_gpus |= last in _TO_GPU or _is_moved(last, node)
            if last == "init_process_group":
                stated = [one.value for one in node.keywords if one.arg == "backend"] or node.args[:1]
                found = node if stated and constants.find(stated[0]) == "gloo" else None
    return found if is_on_gpus and is_wrapped else None


def _is_moved(name: str, call: ast.Call) -> bool:
    """Whether a call moves something to a GPU."""
    value = get_constant(call.args[0]) if name == "to" and call.args else None
    return isinstance(value, str) and value.startswith("cuda")


@check(requires=(PYTHON_TEXT,))
def whole_data_in_each_process(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A data loader without a sampler for the rank. Values: ``script``, ``processes``, ``order``."""
    seen: set[Path] = set()
    for source in list_python_sources(target.job):
        found = _find_loader(source)
        numbers = count_processes_of_source(target.job, source) if found is not None else None
        if found is None or numbers is None or numbers.size < 2:
            continue
        call, order = found
        place = source.locate(call)
        if place in seen:
            continue
        seen.add(place)
        values = {
            "script": source.name,
            "processes": format_count(numbers.size, "process", "processes"),
            "order": order,
        }
        related = list_replica_places(target.job)
        yield Violation(place, values, related, doc=source.doc, group=source.group)


def _find_loader(source: PythonSource) -> tuple[ast.Call, str] | None:
    """Return the loader with which each process trains on the whole data, and how it reads them."""
    text = source.text.lower()
    if any(word in text for word in _OTHERS) or not _is_data_parallel(source.tree):
        return None
    values = find_values(source.tree)
    seeds = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _sets_seed(node)]
    if any(may_differ(argument, values) for seed in seeds for argument in seed.args):
        return None
    trained = _list_trained(source.tree)
    for name, call in values.items():
        if name not in trained or not isinstance(call, ast.Call) or not _shuffles_all(call):
            continue
        if _is_own(call, values, source.tree):
            continue
        return call, ", and in the same order because they have the same seed" if seeds else ""
    return None


def _is_data_parallel(tree: ast.Module) -> bool:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = {get_dotted_name(call.func) for call in calls}
    return any(name in _DATA_PARALLEL or name.endswith(".DistributedDataParallel") for name in names)


def _sets_seed(call: ast.Call) -> bool:
    return get_dotted_name(call.func).rpartition(".")[2] in _SEEDS


def _shuffles_all(call: ast.Call) -> bool:
    """Whether a call makes a loader that reads all entries of a data set, shuffled."""
    if get_dotted_name(call.func).rpartition(".")[2] != "DataLoader" or not call.args:
        return False
    options = {one.arg: one.value for one in call.keywords}
    if None in options or {"sampler", "batch_sampler", "generator"} & options.keys() or len(call.args) > 3:
        return False
    shuffled = options.get("shuffle") or (call.args[2] if len(call.args) == 3 else None)
    return get_constant(shuffled) is True


def _list_trained(tree: ast.Module) -> frozenset[str]:
    """Return the variables that a loop over epochs reads to their end, and trains on."""
    loops = [
        loop
        for epochs in ast.walk(tree)
        if isinstance(epochs, ast.For) and _get_called_name(epochs.iter) in ("range", "trange", "tqdm")
        for loop in epochs.body
        if isinstance(loop, ast.For) and _trains(loop)
    ]
    return frozenset(
        read.id for loop in loops for read in (_get_iterated(loop),) if isinstance(read, ast.Name)
    )


def _get_called_name(node: ast.expr) -> str:
    return get_dotted_name(node.func) if isinstance(node, ast.Call) else ""


def _get_iterated(loop: ast.For) -> ast.expr:
    """Return what a loop reads, without enumerate and tqdm around it."""
    read = loop.iter
    if isinstance(read, ast.Call) and _get_called_name(read) in ("enumerate", "tqdm") and read.args:
        return read.args[0]
    return read


def _trains(loop: ast.For) -> bool:
    """Whether a loop trains with every batch, and does not end before the last one."""
    nodes = list(ast.walk(loop))
    methods = [
        node.func.attr
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    return "backward" in methods and not any(isinstance(node, ast.Break | ast.Continue) for node in nodes)


def _is_own(call: ast.Call, values: Mapping[str, ast.expr], tree: ast.Module) -> bool:
    """Whether a process may read a part of its own: by names of the data set, or what the script defines."""
    data = call.args[0]
    if may_differ(data, values):
        return True
    names = _follow_names(data, values)
    defined = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    imports = (one for one in ast.walk(tree) if isinstance(one, ast.Import | ast.ImportFrom))
    known = {(one.asname or one.name).partition(".")[0] for each in imports for one in each.names}
    known.update(values, dir(builtins), (one.name for one in defined))
    if not names <= known:
        return True  # assigned more than once, or an argument
    return any(may_differ(one, values) for one in defined if one.name in names)


def _follow_names(node: ast.expr, values: Mapping[str, ast.expr]) -> set[str]:
    """Return the names in an expression, and those in the values of its variables."""
    names: set[str] = set()
    pending = [node]
    while pending:
        found = {one.id for one in ast.walk(pending.pop()) if isinstance(one, ast.Name)} - names
        names |= found
        pending += [values[name] for name in found if name in values]
    return names
