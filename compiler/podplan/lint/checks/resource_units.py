"""CPU and memory amounts of GPU containers with a wrong unit, and more data loaders than CPUs.

Sources: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#meaning-of-cpu,
https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes import quantities
from podplan.lint.analysis.jobs import is_number_of_workers
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.analysis.resources import count_accelerators, get_resource_entries
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import Target, Violation

# The plausible minimum and maximum for a training with GPUs.
_BOUNDS = {
    "cpu": (quantities.UNITS_PER_ONE // 10, 1000 * quantities.UNITS_PER_ONE, "one CPU is 1 or 1000m"),
    "memory": (2**30 * quantities.UNITS_PER_ONE, 2**45 * quantities.UNITS_PER_ONE, "1Gi is 1024Mi"),
}
_WORKERS = frozenset(("num_workers", "dataloader_num_workers", "workers", "n_workers", "loader_workers"))


@check()
def implausible_amount(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Implausible CPU or memory of a container with GPUs. Values: ``name``, ``amount``, ``unit``."""
    if not count_accelerators(target.data).number:
        return
    for section in ("requests", "limits"):
        for name, (least, most, unit) in _BOUNDS.items():
            amount = get_resource_entries(target.data, section).get(name)
            number = quantities.parse_quantity(amount)
            if name == "memory" and str(amount)[-1:] in "0123456789m":
                continue  # reported by ambiguous-unit
            if number is not None and not least <= number <= most:
                field = "request" if section == "requests" else "limit"
                values = {"name": name, "field": field, "amount": amount, "unit": unit}
                yield Violation(("resources", section, name), values)


@check(params=object_schema({"factor": COUNT}))
def loaders_beyond_cpus(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """More data loaders of all processes than CPUs. Values: ``option``, ``loaders``, ``cpus``."""
    for world in iter_worlds(target.job):
        limits = get_resource_entries(world.launch.container, "limits")
        cpus = quantities.parse_quantity(limits.get("cpu"))
        if not cpus:
            continue
        for option, doc, path in list_program_options(target.job, world.launch):
            loaders = (option.number or 0) * world.per_node
            if is_number_of_workers(target.job, option.name, option.number or 0):
                continue
            if option.last in _WORKERS and loaders * quantities.UNITS_PER_ONE > params["factor"] * cpus:
                values = {
                    "option": f"{option.name}={option.value}",
                    "loaders": loaders,
                    "cpus": format_count(max(cpus // quantities.UNITS_PER_ONE, 1), "CPU"),
                }
                cpu_path = (*world.launch.path, "resources", "limits", "cpu")
                related = [(world.launch.group.doc, cpu_path, "the CPUs of the container")]
                yield Violation(path, values, related, doc=doc, group=world.launch.group)
