"""Autotuning of DeepSpeed in place of the training that a job is meant for.

Source: https://www.deepspeed.ai/tutorials/autotuning/: tune runs the experiments and ends, run trains with
what they found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.analysis.jobs import is_mode_enabled, spec_of
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.pod_hosts import get_job_name
from podplan.lint.analysis.script_options import ScriptOption, list_program_options
from podplan.lint.checks.lost_progress import RESUMES
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Words of jobs and of paths that search for a configuration.
_SEARCHES = compile_lazily(r"tun(?:e|ing)|search|sweep|explor|probe|bench|trial|experiment|profil")


@check(requires=("deepspeed",))
def tuning_without_training(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A search for a configuration with the options of a training that goes on. Values: ``option``."""
    job = target.job
    if is_mode_enabled(job, "debug") or _SEARCHES.search(get_job_name(job).lower()):
        return
    for launch in find_launches(job):
        tuning = launch.invocation.options.get("autotuning")
        if tuning is None or tuning.value != "tune":
            continue
        options = list(list_program_options(job, launch))
        if any(_SEARCHES.search((one.option.value or "").lower()) for one in options):
            continue
        resumed = next((one for one in options if _resumes(one.option)), None)
        if resumed is not None:
            related = [(resumed.doc, resumed.path, "the training")]
            values = {"option": resumed.option.name}
            if job.cr is not None and "autotune" in get_mapping(spec_of(job), "config"):
                yield Violation(("spec", "config", "autotune"), values, related, doc=job.cr)
            else:
                place = launch.locate_word(tuning.word)
                yield Violation(place, values, related, doc=launch.group.doc, group=launch.group)


def _resumes(option: ScriptOption) -> bool:
    return RESUMES.fullmatch(option.last) is not None and not option.is_off
