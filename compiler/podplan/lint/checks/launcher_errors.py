"""Errors that the launchers report: unknown options, and values that they cannot parse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.launchers.discovery import Invocation
from podplan.launchers.words import CommandLineError, Word
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, spec_of
from podplan.lint.analysis.launches import find_launches, find_variable_path
from podplan.lint.analysis.mpi_libraries import find_line_errors
from podplan.lint.checks.launcher_words import find_joined_words
from podplan.lint.checks.registration import STRING, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation

_SCRIPT_ERROR = compile_lazily(r"needs a script|takes a script|needs a program")


_PARAMS = object_schema(
    {
        "launchers": {
            "type": "array",
            "minItems": 1,
            "items": {
                "enum": [
                    "torchrun",
                    "torch.distributed.launch",
                    "accelerate",
                    "deepspeed",
                    "horovodrun",
                    "mpirun",
                    "colossalai",
                ]
            },
        }
    },
    {
        "option": STRING,
        "except": STRING,
        "certain": {"description": "What every version refuses, or what some do.", "type": "boolean"},
    },
)


@check(params=_PARAMS, aliases=("refused-by-launcher",))
def launcher_refuses(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Command lines that the launchers ``params["launchers"]`` refuse; values ``by``, ``what``, ``instead``.

    ``params["except"]`` excludes an option. ``params["certain"]`` selects errors of every version,
    or the other ones.
    """
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        invocation = launch.invocation
        # The words of a line from the controller have paths in the CR.
        if invocation.launcher not in params["launchers"] or (
            has_trait(job, "deepspeed-by-controller") and invocation.launcher == "deepspeed"
        ):
            continue
        # Another rule reports several options in one word.
        joined = (
            find_joined_words(invocation.launcher, invocation.words, invocation.parsed.command_line)
            if invocation.parsed
            else ()
        )
        for error in find_line_errors(job, launch):
            if not _is_checked_error(invocation, error, params) or error.word in joined:
                continue
            if _is_single_dash_option(invocation, error.word):
                continue  # another rule reports it
            condition = f" ({error.condition})" if error.condition else ""
            instead = _suggest_script_field(job, invocation) if _SCRIPT_ERROR.search(error.message) else ""
            values = {"by": invocation.launcher, "what": f"{error.message}{condition}", "instead": instead}
            path = find_variable_path(launch, error.variable) or launch.locate_word(error.word)
            yield Violation(path, values, doc=launch.group.doc, group=launch.group)


def _is_single_dash_option(invocation: Invocation, word: Word) -> bool:
    if invocation.launcher != "mpirun":
        return False
    from podplan.launchers.mpirun import needs_two_dashes

    return needs_two_dashes(word)


def _suggest_script_field(job: LoweredJob, invocation: Invocation) -> str:
    """Return the field of the CR that states the script or the program of a line."""
    spec = spec_of(job)
    if has_trait(job, "colossalai-by-controller"):
        field = "torchConfig.script" if "replicaSpecs" in spec else "worker.command"
    elif has_trait(job, "mpirun-by-controller"):
        field = "mpiConfig.script" if "replicaSpecs" in spec else "worker.cmd"
        return f"write {field}: [PROGRAM, ARGUMENT, …] (run: in a profile)"
    elif get_mapping(spec, "torchrunConfig").get("enabled") is True:
        field = "args"
    else:
        what = "program" if invocation.launcher in ("mpirun", "horovodrun") else "script"
        return f"write the {what} after the options of {invocation.launcher} (run: in a profile)"
    return f"write {field}: [SCRIPT.py, ARGUMENT, …] (run: in a profile)"


def _is_checked_error(invocation: Invocation, error: CommandLineError, params: Mapping[str, Any]) -> bool:
    """Whether an error is about none of the excluded options."""
    option_names = [
        name for name, option in invocation.options.items() if error.word in (option.word, option.flag)
    ]
    return params.get("certain") in (None, not error.condition) and params.get("except") not in option_names
