"""Settings of a CR that nothing reads, and settings that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.jobs import kind_of, mode, roles, shown_list, spec_of
from podplan.lint.target import Hit, Job, Subject

Found = tuple[Path, str]


def unknown_replica_type(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """An entry of a run mode for a type that the job does not have; values ``type``, ``meant``, ``known``."""
    known = [role.type for role in roles(subject.job)]
    run_mode = mapping(spec_of(subject.job), "runMode")
    for section, listed in (("debug", "replicaSpecs"), ("pause", "resumeSpecs")):
        for number, entry in entries(mapping(run_mode, section), listed):
            type_ = text(entry, "type")
            if type_ and type_ not in known:
                path = ("spec", "runMode", section, listed, number, "type")
                meant = did_you_mean(type_, known) or f", only {shown_list(known)}"
                yield Hit(path, {"type": type_, "meant": meant, "known": " or ".join(known)})


def duplicate_replica_type(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Two replica types, or two entries of a run mode, of one name; values ``type`` and ``what``."""
    spec = spec_of(subject.job)
    run_mode = mapping(spec, "runMode")
    lists: tuple[tuple[Path, Any, str, str], ...] = (
        (("spec",), spec, "replicaSpecs", "their Pods would have the same names"),
        (("spec", "runMode", "debug"), mapping(run_mode, "debug"), "replicaSpecs", "one of them is lost"),
        (("spec", "runMode", "pause"), mapping(run_mode, "pause"), "resumeSpecs", "one of them is lost"),
    )
    for base, parent, key, why in lists:
        first: dict[str, int] = {}
        for number, entry in entries(parent, key):
            type_ = text(entry, "type")
            before = first.setdefault(type_, number)
            if type_ and before != number:
                where = (subject.doc, (*base, key, before, "type"), "the first of them")
                yield Hit((*base, key, number, "type"), {"type": type_, "why": why}, [where])


def nothing_to_run(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A DeepSpeedJob that says neither config.run nor customCommand."""
    job = subject.job
    config = mapping(spec_of(job), "config")
    if mode(job, "debug") or config.get("customCommand") or any(mapping(config, "run").values()):
        return
    yield Hit(("spec", "config", "run") if "run" in config else ("spec", "config") if config else ("spec",))


def section_without_effect(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Settings that count only with another one, which is not there; value ``what``."""
    for find in _SECTIONS.get(kind_of(subject.job), ()):
        for path, what in find(subject.job):
            yield Hit(path, {"what": what}, on_key=True)


def _not_enabled(section: str) -> Callable[[Job], Iterator[Found]]:
    """A section that has settings, and no enabled."""

    def find(job: Job) -> Iterator[Found]:
        written = mapping(spec_of(job), section)
        if written and "enabled" not in written:
            listed, has = " and ".join(written), "has" if len(written) == 1 else "have"
            yield ("spec", section), f"{section} is off without enabled: true, so {listed} {has} no effect"

    return find


def _beside_custom_command(job: Job) -> Iterator[Found]:
    config = mapping(spec_of(job), "config")
    if config.get("customCommand"):
        for key in ("run", "otherArgs", "autotune", "localRank"):
            if key in config and config[key] not in (None, {}, []):
                yield ("spec", "config", key), f"customCommand takes the place of config.{key}"


def _weights(job: Job) -> Iterator[Found]:
    if mapping(spec_of(job), "elastic").get("enabled") is True:
        return
    for role in roles(job):
        if "scalingWeight" in role.data:
            yield (*role.path, "scalingWeight"), "scalingWeight counts in elastic training only"


_SECTIONS: dict[str, tuple[Callable[[Job], Iterator[Found]], ...]] = {
    "PyTorchTrainingJob": (_not_enabled("torchrunConfig"), _not_enabled("elastic"), _weights),
    "DeepSpeedJob": (_not_enabled("elastic"), _beside_custom_command),
}


def run_mode_conflict(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Debug and pause mode at once."""
    if mode(subject.job, "debug") and mode(subject.job, "pause"):
        pause = (subject.doc, ("spec", "runMode", "pause", "enabled"), "pause mode is on here")
        yield Hit(("spec", "runMode", "debug", "enabled"), {}, [pause])


def no_restart_left(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A restart policy of a GenericJob that asks for restarts and allows none; ``policy`` and ``type``."""
    for role in roles(subject.job):
        policy = mapping(role.data, "restartPolicy")
        wanted = policy.get("policy")
        if wanted in ("Always", "OnFailure") and policy.get("limit", 0) == 0:
            path = (*role.path, "restartPolicy", "limit" if "limit" in policy else "policy")
            yield Hit(path, {"policy": wanted, "type": role.type})
