"""Probes that look for a checkpoint before the training has written one.

Source: https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/. periodSeconds is
10 and failureThreshold 3 by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_number, get_text, get_texts
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.outputs import trainings, written_paths
from podplan.lint.checks.planned_time import duration, format_seconds
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_PROBES = ("livenessProbe", "startupProbe")
PERIOD, THRESHOLD = 10, 3
# How often a training saves, and the unit in the name of the option.
_INTERVAL = compile_lazily(
    r"(?:\w+_)?(?:save|saving|ckpts?|checkpoints?|checkpointing|snapshots?)_(?:model_)?"
    r"(?:every|interval|freq|frequency|period)_?(?:n_|in_)?"
    r"(?P<unit>s|secs?|seconds|mins?|minutes|h|hrs?|hours)?(?:_interval)?"
)
_TESTED = compile_lazily(r"(?:\A|[\s;&|(])(?:test|\[)\s+-[efsrd]\s+['\"]?(/[\w./@+-]+)")
_PATH = compile_lazily(r"(?<![\w.$}:/*-])/(?:[\w.@+-]+/)*[\w.@+-]+(?![\w/*$?{])")
_FIND = compile_lazily(r"(?:\A|[\s;&|(])find\s+(/[\w./@+-]+)\s[^;&|]*-mmin\s+-(\d{1,5})\b")


class FileProbe(NamedTuple):
    """A probe of a file: its path, the seconds without it until the container is killed, and the place."""

    probe: str
    path: str
    patience: int
    place: Path


@check(requires=_PROBES)
def probe_before_checkpoint(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A probe that kills the training before it writes the file that the probe looks for.

    Values: ``probe``, ``path``, ``patience``, ``option``, ``interval``.
    """
    if is_mode_enabled(target.job, "debug"):
        return
    for launch, where in trainings(target.job):
        if launch.group is not where.group or launch.invocation.is_conditional:
            continue
        probes = list(_list_file_probes(where.container))
        interval = _find_interval(list(list_program_options(target.job, launch))) if probes else None
        if interval is None:
            continue
        outputs = written_paths(launch)
        for probe in probes:
            is_output = any(probe.path == each or probe.path.startswith(f"{each}/") for each in outputs)
            if is_output and probe.patience < interval[1]:
                values = {
                    "probe": probe.probe,
                    "path": probe.path,
                    "patience": format_seconds(probe.patience),
                    "option": interval[0].option.name,
                    "interval": format_seconds(interval[1]),
                }
                related = [(interval[0].doc, interval[0].path, "when it is written")]
                place = below(where.base, probe.place)
                yield Violation(place, values, related, doc=where.group.doc, group=where.group)


def _find_interval(options: list[PlacedOption]) -> tuple[PlacedOption, int] | None:
    """The option that says how often a training saves, and that in seconds."""
    for placed in options:
        found = _INTERVAL.fullmatch(placed.option.last)
        if found is not None:
            unit = f"_{found['unit']}" if found["unit"] else ""
            seconds = duration(f"max_time{unit}", placed.option.value or "")
            if seconds:
                return placed, seconds
    return None


def _list_file_probes(container: Mapping[str, Any]) -> Iterator[FileProbe]:
    startup = get_mapping(container, "startupProbe")
    for name in _PROBES:
        probe = get_mapping(container, name)
        patience = _count_seconds(probe) + (_count_seconds(startup) if name == "livenessProbe" else 0)
        words = list(get_texts(get_mapping(probe, "exec"), "command"))
        joined = " ".join(word for _, word in words)
        for found, age in ((_TESTED.search(joined), 0), (_FIND.search(joined), 1)):
            if found is None or "||" in joined:
                continue
            seconds = 60 * int(found[2]) if age else 0
            at = next((at for at, word in words if found[1] in word), 0)
            yield FileProbe(name, normpath(found[1]), patience + seconds, (name, "exec", "command", at))


def _count_seconds(probe: Mapping[str, Any]) -> int:
    """The seconds after which a probe that always fails has failed often enough; 0 without a probe."""
    if not probe:
        return 0
    tries = (get_number(probe, "failureThreshold") or THRESHOLD) * (
        get_number(probe, "periodSeconds") or PERIOD
    )
    return (get_number(probe, "initialDelaySeconds") or 0) + tries


@check(requires=("livenessProbe", "readinessProbe", "startupProbe"))
def probe_of_other_file(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A probe of a file that nothing names, beside a file of nearly the same name that the program writes.

    Values: ``probe``, ``path``, ``written``.
    """
    container = target.data
    if is_mode_enabled(target.job, "debug"):
        return
    named: dict[str, Path] = {}
    for key in ("command", "args"):
        for at, text in get_texts(container, key):
            named.update(dict.fromkeys(_PATH.findall(text), (key, at)))
    for at, entry in get_entries(container, "env"):
        named.update(dict.fromkeys(_PATH.findall(get_text(entry, "value")), ("env", at, "value")))
    for probe in ("livenessProbe", "readinessProbe", "startupProbe") if named else ():
        for at, text in get_texts(get_mapping(get_mapping(container, probe), "exec"), "command"):
            for path in _PATH.findall(text):
                other = next((one for one in named if path not in named and _is_near(path, one)), None)
                if other is not None:
                    related = [(target.doc, below(target.base_path, named[other]), "the file of the program")]
                    values = {"probe": probe, "path": path, "written": other}
                    yield Violation((probe, "exec", "command", at), values, related)
                    return


def _is_near(one: str, other: str) -> bool:
    """Whether two files of one folder have nearly the same name."""
    if one.rpartition("/")[0] != other.rpartition("/")[0]:
        return False
    from difflib import SequenceMatcher

    names = one.rpartition("/")[2], other.rpartition("/")[2]
    return SequenceMatcher(None, *names).ratio() >= 0.75
