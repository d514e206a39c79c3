"""CPUs and memory beside GPUs that show a wrong unit, and data loaders that are more than the CPUs.

Sources: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#meaning-of-cpu,
https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes import quantities
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.analysis.resources import count_accelerators, get_resource_entries
from podplan.lint.analysis.script_options import of_program
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import Target, Violation

# The least and the most that a training with GPUs can mean.
_BOUNDS = {
    "cpu": (quantities.UNITS_PER_ONE // 10, 1000 * quantities.UNITS_PER_ONE, "one CPU is 1 or 1000m"),
    "memory": (2**30 * quantities.UNITS_PER_ONE, 2**45 * quantities.UNITS_PER_ONE, "1Gi is 1024Mi"),
}
_WORKERS = frozenset(("num_workers", "dataloader_num_workers", "workers", "n_workers", "loader_workers"))


@check()
def implausible_amount(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """CPU or memory of a container with GPUs that nobody can mean. Values: ``name``, ``amount``, ``unit``."""
    if not count_accelerators(target.data).number:
        return
    for section in ("requests", "limits"):
        for name, (least, most, unit) in _BOUNDS.items():
            amount = get_resource_entries(target.data, section).get(name)
            number = quantities.parse_quantity(amount)
            if name == "memory" and str(amount)[-1:] in "0123456789m":
                continue  # ambiguous-unit reports it
            if number is not None and not least <= number <= most:
                field = "request" if section == "requests" else "limit"
                values = {"name": name, "field": field, "amount": amount, "unit": unit}
                yield Violation(("resources", section, name), values)


@check(params=object_schema({"factor": COUNT}))
def loaders_beyond_cpus(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Data loaders of all processes beyond the CPUs. Values: ``option``, ``loaders``, ``cpus``."""
    for world in iter_worlds(target.job):
        limits = get_resource_entries(world.launch.container, "limits")
        cpus = quantities.parse_quantity(limits.get("cpu"))
        if not cpus:
            continue
        for option, doc, path in of_program(target.job, world.launch):
            loaders = (option.number or 0) * world.per_node
            if option.last in _WORKERS and loaders * quantities.UNITS_PER_ONE > params["factor"] * cpus:
                values = {
                    "option": f"{option.name}={option.value}",
                    "loaders": loaders,
                    "cpus": format_count(max(cpus // quantities.UNITS_PER_ONE, 1), "CPU"),
                }
                cpu_path = (*world.launch.path, "resources", "limits", "cpu")
                related = [(world.launch.group.doc, cpu_path, "the CPUs of the container")]
                yield Violation(path, values, related, doc=doc, group=world.launch.group)
