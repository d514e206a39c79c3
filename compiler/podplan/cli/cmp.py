"""podplan cmp: discover, parameters and generate, as Argo CD calls a config management plugin."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress

import click

from podplan import kubernetes
from podplan.cli.check_run import compute_exit_code, require_complete
from podplan.cli.exit_codes import CLEAN, FINDINGS, INTERNAL_ERROR, NO_INPUT, SIGNAL_BASE
from podplan.cli.help import HelpGroup
from podplan.cli.lint_config import rule_options
from podplan.cli.options import FAIL_ON_CHOICES, RunSettings, kustomize_option, resolve_run_settings
from podplan.cli.output import discard_stdout, print_message, write_all, write_escaped_stderr, write_stdout
from podplan.cli.shell_completion import complete_files
from podplan.config import load_config_for
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.limits import LimitExceeded, RunTimeout
from podplan.core.typing import Any, NoReturn
from podplan.integrations.argocd import parameters
from podplan.integrations.argocd.application import iter_profile_files, read_application
from podplan.integrations.argocd.destination import find_unserved_kinds, select_version
from podplan.integrations.argocd.generator import (
    GeneratedManifests,
    find_copy_root,
    generate_manifests,
    resolve_inventory_path,
)
from podplan.integrations.argocd.parameters import PluginParameters, parse_parameters
from podplan.integrations.argocd.sync_options import require_sync_options
from podplan.report.argocd import render
from podplan.report.sanitization import escape_text
from podplan.workspace.files import OutsideRoot, find_git_top, find_root, use_as_root
from podplan.workspace.loader import Loader

WORKING_FOLDER = os.curdir
DEFAULT_MEMORY_MIB = 768  # the sidecar has 1024, beyond which the kernel would kill it
DEFAULT_DEADLINE_SECONDS = 50  # Argo CD times out after 60, including the checkout of the repository
_MISSING_FILE_RULES = ("PROF002", "PROF016")  # a missing base profile or inventory
TERMINATED = SIGNAL_BASE + signal.SIGTERM


@click.group("cmp", cls=HelpGroup)
@click.pass_context
def command(context: click.Context) -> None:
    """Run as the config management plugin of Argo CD.

    Each command works on the folder it is started in. docs/argocd.md describes the installation.
    """
    context.with_resource(use_as_root(_find_root()))


@command.command("discover")
def discover() -> int:
    """Print the first file with a profile; no output means that the folder has none.

    The exit code is 0 in both cases, since Argo CD treats any other as a failure.
    """
    profile_file = next(iter_profile_files(WORKING_FOLDER, _read_exclude()), "")
    if profile_file:
        write_stdout(f"{escape_text(profile_file)}\n")
    return CLEAN


_memory_option = click.option(
    "--memory",
    metavar="MIB",
    type=click.IntRange(64, 1_048_576),
    default=DEFAULT_MEMORY_MIB,
    help=f"Memory limit [{DEFAULT_MEMORY_MIB}].",
)


@command.command("parameters")
@_memory_option
def print_parameters(memory: int) -> int:
    """Print the parameters that an Application may set, as JSON."""
    import json

    from podplan.integrations.argocd.parameter_schema import build_parameter_schemas

    _limit_memory(memory)
    try:
        profiles = read_application(WORKING_FOLDER, _read_exclude(), Loader()).profiles
    except Exception as error:  # the form must not fail: generate reports the error
        _print_warnings(
            [f"the params of the profiles are not known: {str(error) or 'there is too little memory'}"]
        )
        profiles = []
    write_stdout(json.dumps(build_parameter_schemas(profiles), indent=2) + "\n")
    return CLEAN


def _read_exclude() -> tuple[str, ...]:
    """Return the excluded patterns; generate reports an invalid configuration."""
    try:
        return load_config_for(WORKING_FOLDER).exclude
    except (LimitExceeded, UsageError, OutsideRoot):
        return ()


def _require_cr_output(_: click.Context, __: click.Parameter, value: str) -> str:
    if value != "cr":
        raise click.BadParameter(
            "only cr is handed to a cluster: what it lowers to is a prediction, and the controller makes it"
        )
    return value


@command.command("generate")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON_CHOICES),
    default=None,
    help="Lowest severity that prevents any output [error].",
)
@click.option(
    "--manifests",
    type=click.Choice(parameters.MANIFEST_MODES),
    default=None,
    help="Default for manifests beside the profiles [refused].",
)
@kustomize_option
@click.option("--allow-empty", is_flag=True, help="Exit with 0 if there is nothing to apply.")
@click.option(
    "--deadline",
    metavar="SECONDS",
    type=click.IntRange(1, 86_400),
    default=DEFAULT_DEADLINE_SECONDS,
    help=f"Time limit [{DEFAULT_DEADLINE_SECONDS}].",
)
@_memory_option
@click.option(
    "--gitops",
    type=click.Choice(("none", "argocd")),
    default=None,
    help="argocd adds the annotation that asks before a CR is pruned.",
)
@click.option(
    "--sync-option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="Sync option for the CRs of profiles, such as Delete=confirm; repeatable.",
)
@click.option(
    "--emit",
    metavar="cr",
    default="cr",
    expose_value=False,
    callback=_require_cr_output,
    help="Objects to print [cr].",
)
@click.option(
    "--k8s-version", metavar="1.NN", default="", help="Kubernetes version to check against [KUBE_VERSION]."
)
@click.option(
    "--config",
    metavar="FILE",
    shell_complete=complete_files,
    default="",
    help="Configuration file to use instead of the nearest one.",
)
@click.option("--isolated", is_flag=True, help="Ignore configuration files.")
@rule_options
def print_manifests(
    manifests: str | None,
    allow_empty: bool,
    deadline: int,
    memory: int,
    options: Sequence[str],
    **flags: Any,
) -> int:
    """Print the CRs of the profiles in this folder if all of them pass the check.

    With -k, print everything that kustomize builds, with CRs in place of profiles.

    Parameters are read from the JSON in ARGOCD_APP_PARAMETERS only.
    """
    _install_deadline(deadline)
    _limit_memory(memory)
    require_sync_options(options)
    try:
        generated_set, fail_on, warnings = _run_generator(manifests or "", options, **flags)
    except UsageError as error:  # it may quote untrusted input, and is shown on a web page
        raise UsageError(escape_text(str(error))) from None
    except MemoryError:
        raise LimitExceeded(
            f"{memory} MiB of memory were not enough, so nothing is printed; split the Application, or"
            " raise --memory of the plugin and the memory of its container"
        ) from None
    warnings += find_unserved_kinds(os.environ.get("KUBE_API_VERSIONS", ""), generated_set.apis)
    code = (
        compute_exit_code(generated_set.result, fail_on) if not generated_set.incomplete_files else FINDINGS
    )
    return _hand_over(generated_set, code, allow_empty, warnings)


def _run_generator(
    manifests: str, options: Sequence[str], **flags: Any
) -> tuple[GeneratedManifests, Severity | None, list[str]]:
    """Return the manifests, the severity that blocks them, and warnings."""
    given_parameters = parse_parameters(os.environ.get(parameters.PARAMETERS_VARIABLE))
    given_parameters = given_parameters._replace(namespace=os.environ.get("ARGOCD_APP_NAMESPACE", ""))
    run_settings, warnings = _resolve_settings(given_parameters, **flags)
    reader = Loader(exclude=run_settings.exclude)
    manifests = given_parameters.manifests or manifests
    generated_set = generate_manifests(
        WORKING_FOLDER,
        given_parameters,
        manifests,
        run_settings.exclude,
        run_settings.settings,
        reader,
        options,
        flags["kustomize"],
    )
    require_complete(generated_set.result)
    return generated_set, run_settings.fail_on, warnings


def _hand_over(
    generated_set: GeneratedManifests, code: int, allow_empty: bool, warnings: Iterable[str]
) -> int:
    """Print all manifests to standard output, or the reasons against that to standard error."""
    if code == CLEAN and not generated_set.apis and not allow_empty:
        print_message("no JobProfile here, and so nothing to apply")
        code = NO_INPUT
    elif generated_set.result.findings or generated_set.incomplete_files:
        write_escaped_stderr(render(generated_set.result))
        _print_missing_file_hint(generated_set)
    if generated_set.incomplete_files:
        incomplete_file = generated_set.incomplete_files[0]
        _print_warnings([f"{incomplete_file} did not compile to all of its CRs, so nothing is printed"])
    _print_warnings(warnings)
    if code == CLEAN:
        _cancel_deadline()
        try:
            write_all(generated_set.text)
        except BrokenPipeError:  # the output was incomplete, so the run has failed
            discard_stdout()
            code = INTERNAL_ERROR
    return code


def _resolve_settings(given_parameters: PluginParameters, **flags: Any) -> tuple[RunSettings, list[str]]:
    """Return the settings, partly from the Application and the destination cluster, and warnings about these.

    The current day is not used: the result for a commit must not change while Argo CD caches it.
    """
    destination_version = select_version(
        "" if flags["k8s_version"] else os.environ.get("KUBE_VERSION", ""),
        kubernetes.supported_versions(),
        "",
    )
    inventory = (
        resolve_inventory_path(given_parameters.inventory, WORKING_FOLDER, find_root(WORKING_FOLDER))
        if given_parameters.inventory
        else ""
    )
    flags = {**flags, "k8s_version": flags["k8s_version"] or destination_version.version}
    run_settings = resolve_run_settings((WORKING_FOLDER,), with_policies=True, inventory=inventory, **flags)
    # Lower the Pods of a paused job as if it were resumed.
    settings = run_settings.settings._replace(
        lowering_options=run_settings.settings.lowering_options._replace(resumed=True)
    )
    return run_settings._replace(settings=settings), [
        destination_version.warning
    ] if destination_version.warning else []


def _find_root() -> str:
    """Return the top of the repository, or of the part of it that Argo CD copied."""
    folder = os.path.realpath(WORKING_FOLDER)
    git_top = find_git_top(folder)
    if git_top not in ("", folder):
        return git_top
    return find_copy_root(folder, os.environ.get("ARGOCD_APP_SOURCE_PATH", ""))


def _print_missing_file_hint(generated_set: GeneratedManifests) -> None:
    """Print a hint if a file is missing: Argo CD may be configured to copy only a part of the repository."""
    if any(found.rule in _MISSING_FILE_RULES for found in generated_set.result.findings):
        _print_warnings(
            [
                "a file that is in the repository, and not here, was not handed over: with"
                " --plugin-use-manifest-generate-paths, name its folder, too, in the annotation"
                " argocd.argoproj.io/manifest-generate-paths of the Application"
            ]
        )


def _print_warnings(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        print_message(f"{escape_text(sentence)}")


def _install_deadline(deadline: int) -> None:
    """End the run with a message when it times out, or when Argo CD ends it."""

    def late(*_: object) -> NoReturn:
        raise RunTimeout(
            f"this took longer than {deadline} seconds, so nothing is printed; split the Application,"
            " or raise --deadline of the plugin and the timeouts of Argo CD"
        )

    def stop(*_: object) -> NoReturn:
        os.write(
            2, b"podplan: Argo CD stopped podplan before everything was rendered, so nothing is printed\n"
        )
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, stop)
    if hasattr(signal, "SIGALRM"):  # not on Windows
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, deadline)


def _limit_memory(mebibytes: int) -> None:
    """Limit the memory of the process: otherwise the kernel would kill the whole sidecar."""
    with suppress(ImportError, ValueError, OSError):  # not on Windows; a lower limit may be set
        import resource

        _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * 1024 * 1024, hard_limit))


def _cancel_deadline() -> None:
    """Cancel the deadline before output begins: it must be complete, and Argo CD has its own timeout."""
    if hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, 0)
