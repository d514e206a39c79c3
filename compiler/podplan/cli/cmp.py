"""podplan cmp: discover, parameters and generate, as Argo CD calls a config management plugin."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress

import click

from podplan import kubernetes
from podplan.cli.check_run import demand_all, exit_code
from podplan.cli.exit_codes import CLEAN, FINDINGS, INTERNAL, KILLED, NOTHING
from podplan.cli.lint_config import rule_options
from podplan.cli.options import FAIL_ON, Request, request
from podplan.cli.output import drop_output, say, tell, write, write_all
from podplan.cli.shell_completion import files
from podplan.config import config_for
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.limits import BoundExceeded, OutOfTime
from podplan.core.typing import Any, NoReturn
from podplan.integrations.argocd import parameters
from podplan.integrations.argocd.application import read, with_profiles
from podplan.integrations.argocd.destination import missing, version
from podplan.integrations.argocd.generator import Generated, generate, inventory_path, root_of_copy
from podplan.integrations.argocd.parameters import Given, given
from podplan.integrations.argocd.sync_options import demand_options
from podplan.report.argocd import render
from podplan.report.sanitization import visible
from podplan.workspace import Reader
from podplan.workspace.files import OutsideRoot, root_of, taken_as_root

FOLDER = os.curdir
MEBIBYTES = 768  # the sidecar has 1024; beyond, it would be ended with all that it does for others
SECONDS = 50  # Argo CD gives up after 60, of which getting the repository takes its part
_OF_OTHER_FILES = ("PROF002", "PROF016")  # a base or an inventory that is not there
STOPPED = KILLED + signal.SIGTERM


@click.group("cmp")
@click.pass_context
def command(context: click.Context) -> None:
    """What Argo CD calls: podplan as its config management plugin.

    Each of these looks at the folder it is started in. docs/argocd.md says how to install it.
    """
    context.with_resource(taken_as_root(_root()))


@command.command("discover", short_help="Say whether this folder holds a profile.")
def discover() -> int:
    """Print the first file that holds a profile; nothing means that this folder is not for podplan.

    The exit code is 0 either way: Argo CD takes any other for a fault, and not for a no.
    """
    found = next(with_profiles(FOLDER, _exclude()), "")
    if found:
        write(f"{visible(found)}\n")
    return CLEAN


_memory = click.option(
    "--memory",
    metavar="MIB",
    type=click.IntRange(64, 1_048_576),
    default=MEBIBYTES,
    help=f"Give up where this is not enough, and say so [{MEBIBYTES}].",
)


@command.command("parameters", short_help="Print what an Application may set.")
@_memory
def announce(memory: int) -> int:
    """Print the parameters that an Application may set, as JSON: those of the profiles here among them."""
    import json

    from podplan.integrations.argocd.parameter_schema import announced

    _stay_below(memory)
    try:
        profiles = read(FOLDER, _exclude(), Reader()).profiles
    except Exception as error:  # the form that shows them must not fail: generate says what is wrong
        _warn([f"the params of the profiles are not known: {str(error) or 'there is too little memory'}"])
        profiles = []
    write(json.dumps(announced(profiles), indent=2) + "\n")
    return CLEAN


def _exclude() -> tuple[str, ...]:
    """What the configuration leaves out; a configuration that is wrong is for generate to tell of."""
    try:
        return config_for(FOLDER).exclude
    except (BoundExceeded, RequestError, OutsideRoot):
        return ()


def _only_crs(_: click.Context, __: click.Parameter, value: str) -> str:
    if value != "cr":
        raise click.BadParameter(
            "only cr is handed to a cluster: what it lowers to is a prediction, and the controller makes it"
        )
    return value


@command.command("generate", short_help="Print the CRs, all of them checked, or none.")
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), default=None, help="Severity that keeps everything back [error]."
)
@click.option(
    "--manifests",
    type=click.Choice(parameters.TREATMENTS),
    default=None,
    help="Manifests beside the profiles, where the Application does not say [refused].",
)
@click.option("--allow-empty", is_flag=True, help="Exit with 0 where there is nothing to apply.")
@click.option(
    "--deadline",
    metavar="SECONDS",
    type=click.IntRange(1, 86_400),
    default=SECONDS,
    help=f"Give up after this time, and say so [{SECONDS}].",
)
@_memory
@click.option(
    "--gitops", type=click.Choice(("none", "argocd")), default=None, help="argocd: ask before a CR is pruned."
)
@click.option(
    "--sync-option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="A sync option for the CRs of profiles, such as Delete=confirm.",
)
@click.option(
    "--emit", metavar="cr", default="cr", expose_value=False, callback=_only_crs, help="What is printed."
)
@click.option("--k8s-version", metavar="1.NN", default="", help="Instead of what KUBE_VERSION says.")
@click.option("--config", metavar="FILE", shell_complete=files, default="", help="This, not the nearest.")
@click.option("--isolated", is_flag=True, help="No configuration file.")
@rule_options
def generated(
    manifests: str | None,
    allow_empty: bool,
    deadline: int,
    memory: int,
    options: Sequence[str],
    **flags: Any,
) -> int:
    """Print the CRs of the profiles here, once all of them are checked; else nothing.

    Parameters are read from the JSON in ARGOCD_APP_PARAMETERS, and from nowhere else.
    """
    _stop_in_time(deadline)
    _stay_below(memory)
    demand_options(options)
    try:
        made, fail_on, warnings = _generated(manifests or "", options, **flags)
    except RequestError as error:  # it may quote what a stranger wrote, and goes to a web page
        raise RequestError(visible(str(error))) from None
    except MemoryError:
        raise BoundExceeded(
            f"{memory} MiB of memory were not enough, and nothing is handed over; split the Application, or"
            " raise --memory of the plugin and the memory of its container"
        ) from None
    warnings += missing(os.environ.get("KUBE_API_VERSIONS", ""), made.apis)
    code = exit_code(made.result, fail_on) if not made.lacking else FINDINGS
    return _handed_over(made, code, allow_empty, warnings)


def _generated(
    manifests: str, options: Sequence[str], **flags: Any
) -> tuple[Generated, Severity | None, list[str]]:
    """What there is to hand over, from which severity on it is kept back, and warnings."""
    asked = given(os.environ.get(parameters.VARIABLE))
    asked = asked._replace(namespace=os.environ.get("ARGOCD_APP_NAMESPACE", ""))
    wanted, warnings = _request(asked, **flags)
    reader = Reader(exclude=wanted.exclude)
    manifests = asked.manifests or manifests
    made = generate(FOLDER, asked, manifests, wanted.exclude, wanted.settings, reader, options)
    demand_all(made.result)
    return made, wanted.fail_on, warnings


def _handed_over(made: Generated, code: int, allow_empty: bool, warnings: Iterable[str]) -> int:
    """Everything to standard output, or the reasons why not to standard error."""
    if code == CLEAN and not made.apis and not allow_empty:
        say("no JobProfile here, and so nothing to apply")
        code = NOTHING
    elif made.result.findings or made.lacking:
        tell(render(made.result))
        _hint(made)
    if made.lacking:
        _warn([f"{made.lacking[0]} did not give all of its CRs, and so nothing is handed over"])
    _warn(warnings)
    if code == CLEAN:
        _let_finish()
        try:
            write_all(made.text)
        except BrokenPipeError:  # nobody has the whole of it, so this was no success
            drop_output()
            code = INTERNAL
    return code


def _request(asked: Given, **flags: Any) -> tuple[Request, list[str]]:
    """The settings, of which the Application and the destination give some, and what to say of these.

    The clock is not asked: what holds for a commit must hold for as long as Argo CD keeps it.
    """
    said = version(
        "" if flags["k8s_version"] else os.environ.get("KUBE_VERSION", ""), kubernetes.versions(), ""
    )
    inventory = inventory_path(asked.inventory, FOLDER, root_of(FOLDER)) if asked.inventory else ""
    flags = {**flags, "k8s_version": flags["k8s_version"] or said.version}
    wanted = request((FOLDER,), environments=(), sets=(), inventory=inventory, **flags)
    # What a paused job has no Pods for now, it has once it goes on.
    settings = wanted.settings._replace(options=wanted.settings.options._replace(resumed=True))
    return wanted._replace(settings=settings), [said.warning] if said.warning else []


def _root() -> str:
    """The top of the repository, or of what Argo CD handed over of it."""
    folder = os.path.realpath(FOLDER)
    by_git = root_of(folder)
    if by_git != folder:
        return by_git
    return root_of_copy(folder, os.environ.get("ARGOCD_APP_SOURCE_PATH", ""))


def _hint(made: Generated) -> None:
    """What a file that is not there may come from: Argo CD may have been told to hand over less."""
    if any(found.rule in _OF_OTHER_FILES for found in made.result.findings):
        _warn(
            [
                "a file that is in the repository, and not here, was not handed over: with"
                " --plugin-use-manifest-generate-paths, name its folder, too, in the annotation"
                " argocd.argoproj.io/manifest-generate-paths of the Application"
            ]
        )


def _warn(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        say(f"{visible(sentence)}")


def _stop_in_time(deadline: int) -> None:
    """Lets the run end with a sentence when it takes too long, or when Argo CD ends it."""

    def late(*_: object) -> NoReturn:
        raise OutOfTime(
            f"this took longer than {deadline} seconds, and nothing is handed over; split the Application,"
            " or raise --deadline of the plugin and the timeouts of Argo CD"
        )

    def stopped(*_: object) -> NoReturn:
        os.write(2, b"podplan: Argo CD ended this before all was rendered, and nothing is handed over\n")
        sys.exit(STOPPED)

    signal.signal(signal.SIGTERM, stopped)
    if hasattr(signal, "SIGALRM"):  # Windows has no such signal
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, deadline)


def _stay_below(mebibytes: int) -> None:
    """Lets the run fail where it wants more memory: the kernel would end the whole sidecar instead."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit; a lower one may be set
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * 1024 * 1024, most))


def _let_finish() -> None:
    """What is begun to be handed over is handed over: Argo CD has a deadline of its own."""
    if hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, 0)
