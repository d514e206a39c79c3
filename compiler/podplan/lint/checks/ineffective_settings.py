"""Settings of a CR that nothing reads, and settings that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any, NamedTuple
from podplan.core.wording import add_article
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.lint.analysis.jobs import (
    format_list,
    get_replica_specs,
    has_trait,
    is_mode_enabled,
    kind_of,
    spec_of,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


class IneffectiveSetting(NamedTuple):
    """A setting without effect, the message about it, and the path of the cause, if there is one."""

    path: Path
    message: str
    cause: Path = ()


@check()
def unknown_replica_type(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An entry of a run mode for a replica type that the job lacks; values ``type``, ``meant``, ``known``."""
    known_types = [role.type for role in get_replica_specs(target.job)]
    run_mode = get_mapping(spec_of(target.job), "runMode")
    for section, list_key in (("debug", "replicaSpecs"), ("pause", "resumeSpecs")):
        for number, entry in get_entries(get_mapping(run_mode, section), list_key):
            type_ = get_text(entry, "type")
            if type_ and type_ not in known_types:
                path = ("spec", "runMode", section, list_key, number, "type")
                suggestion = suggest_phrase(type_, known_types) or f", only {format_list(known_types)}"
                yield Violation(path, {"type": type_, "meant": suggestion, "known": " or ".join(known_types)})


@check()
def duplicate_replica_type(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Two replica types, or two entries of a run mode, with the same name; values ``type`` and ``what``."""
    spec = spec_of(target.job)
    run_mode = get_mapping(spec, "runMode")
    lists: tuple[tuple[Path, Any, str, str], ...] = (
        (("spec",), spec, "replicaSpecs", "their Pods would have the same names"),
        (("spec", "runMode", "debug"), get_mapping(run_mode, "debug"), "replicaSpecs", "one of them is lost"),
        (("spec", "runMode", "pause"), get_mapping(run_mode, "pause"), "resumeSpecs", "one of them is lost"),
    )
    for base, parent, key, consequence in lists:
        first_indexes: dict[str, int] = {}
        for number, entry in get_entries(parent, key):
            type_ = get_text(entry, "type")
            first_index = first_indexes.setdefault(type_, number)
            if type_ and first_index != number:
                related = (target.doc, (*base, key, first_index, "type"), "the first of them")
                yield Violation((*base, key, number, "type"), {"type": type_, "why": consequence}, [related])


@check()
def nothing_to_run(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A DeepSpeedJob without config.run and customCommand."""
    job = target.job
    config = get_mapping(spec_of(job), "config")
    if (
        is_mode_enabled(job, "debug")
        or config.get("customCommand")
        or any(get_mapping(config, "run").values())
    ):
        return
    yield Violation(
        ("spec", "config", "run") if "run" in config else ("spec", "config") if config else ("spec",)
    )


@check()
def section_without_effect(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Settings that take effect only with another one, which is missing; value ``what``."""
    for trait, find_settings in _FINDERS_BY_TRAIT:
        for path, message, cause in find_settings(target.job) if has_trait(target.job, trait) else ():
            related = [(target.doc, cause, "because of this")] if cause else []
            yield Violation(path, {"what": message}, related, at_key=True)


@check()
def ignored_run_mode(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An enabled run mode of a kind that always starts at once; values ``kind`` and ``mode``."""
    for mode in ("debug", "pause"):
        if is_mode_enabled(target.job, mode):
            yield Violation(
                ("spec", "runMode", mode),
                {"kind": add_article(kind_of(target.job)), "mode": mode},
                at_key=True,
            )


def _make_section_finder(section: str) -> Callable[[LoweredJob], Iterator[IneffectiveSetting]]:
    """Return a function that finds a section with settings and without ``enabled``."""

    def find_disabled_section(job: LoweredJob) -> Iterator[IneffectiveSetting]:
        section_data = get_mapping(spec_of(job), section)
        if section_data and "enabled" not in section_data:
            keys_text, verb = " and ".join(section_data), "has" if len(section_data) == 1 else "have"
            yield IneffectiveSetting(
                ("spec", section),
                f"{section} is disabled without enabled: true, so {keys_text} {verb} no effect",
            )

    return find_disabled_section


def _iter_replaced_by_custom_command(job: LoweredJob) -> Iterator[IneffectiveSetting]:
    config = get_mapping(spec_of(job), "config")
    if config.get("customCommand"):
        for key in ("run", "otherArgs", "autotune", "localRank"):
            if key in config and config[key] not in (None, {}, []):
                path = ("spec", "config", key)
                message = f"customCommand overrides config.{key}"
                yield IneffectiveSetting(path, message, ("spec", "config", "customCommand"))


def _iter_scaling_weights(job: LoweredJob) -> Iterator[IneffectiveSetting]:
    elastic = get_mapping(spec_of(job), "elastic")
    if elastic.get("enabled") is True:
        return
    cause: Path = ("spec", "elastic", "enabled") if "enabled" in elastic else ()
    for replica_spec in get_replica_specs(job):
        if "scalingWeight" in replica_spec.data:
            path = (*replica_spec.path, "scalingWeight")
            message = "scalingWeight counts in elastic training only"
            yield IneffectiveSetting(path, message, cause)


_FINDERS_BY_TRAIT: tuple[tuple[str, Callable[[LoweredJob], Iterator[IneffectiveSetting]]], ...] = (
    ("torchrun-by-controller", _make_section_finder("torchrunConfig")),
    ("elastic", _make_section_finder("elastic")),
    ("scaling-weights", _iter_scaling_weights),
    ("deepspeed-by-controller", _iter_replaced_by_custom_command),
)


@check(aliases=("run-mode-conflict",))
def debug_and_pause(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Debug and pause mode at once."""
    if is_mode_enabled(target.job, "debug") and is_mode_enabled(target.job, "pause"):
        pause = (target.doc, ("spec", "runMode", "pause", "enabled"), "pause mode is enabled here")
        yield Violation(("spec", "runMode", "debug", "enabled"), {}, [pause])


@check()
def no_restart_left(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A restart policy with restarts while the limit allows none.

    Values: ``type``, ``limit`` (the number that is 0), ``instead``.
    """
    if has_trait(target.job, "shared-retries"):
        yield from _find_unused_policy(target)
    if not has_trait(target.job, "restart-limit"):
        return
    for replica_spec in get_replica_specs(target.job):
        policy = get_mapping(replica_spec.data, "restartPolicy")
        policy_name = policy.get("policy")
        if policy_name in ("Always", "OnFailure") and policy.get("limit", 0) == 0:
            path = (*replica_spec.path, "restartPolicy", "limit" if "limit" in policy else "policy")
            values = {
                "type": replica_spec.type,
                "limit": f"the limit of the policy {policy_name}",
                "instead": "limit: 3, or policy: Never",
            }
            yield Violation(path, values)


def _find_unused_policy(target: Target) -> Iterator[Violation]:
    """Yield the first restart policy if the shared number of retries is stated as 0."""
    if get_mapping(spec_of(target.job), "runPolicy").get("backoffLimit") != 0:
        return
    for replica_spec in get_replica_specs(target.job):
        policy = get_text(replica_spec.data, "restartPolicy")
        if policy in ("Always", "OnFailure"):
            path = (*replica_spec.path, "restartPolicy")
            related = [(target.doc, ("spec", "runPolicy", "backoffLimit"), "the retries of all replicas")]
            values = {
                "type": replica_spec.type,
                "limit": f"backoffLimit, which limits the policy {policy},",
                "instead": "backoffLimit: 3, or restartPolicy: Never",
            }
            yield Violation(path, values, related)
            return
