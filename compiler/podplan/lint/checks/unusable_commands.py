"""Commands in scripts that work on a machine but not in a container.

Sources: https://docs.conda.io/projects/conda/en/stable/dev-guide/deep-dives/activation.html (activate is a
function of the shell), https://man7.org/linux/man-pages/man2/mount.2.html (CAP_SYS_ADMIN),
https://wiki.ubuntu.com/DashAsBinSh (syntax of bash that sh lacks).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import TextPath
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text, get_texts
from podplan.launchers import exec_form
from podplan.launchers.exit_status import TRAINERS
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.processes import programs_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_CONDA_SET_UP = compile_lazily(
    r"conda\.sh|shell\.(?:bash|posix|zsh)|shell hook|bashrc|bash_profile|/activate\b|micromamba|mamba\.sh"
)
_LOGIN = compile_lazily(r"-[a-z]*[il][a-z]*|--login")
_YES = compile_lazily(r"-[a-z]*y[a-z]*|--yes|--assume-yes|--assumeyes|-qq+")
_INSTALLERS = {"apt-get": "apt-get", "apt": "apt", "yum": "yum", "dnf": "dnf"}
# Syntax that dash, the sh of Debian and Ubuntu images, does not support.
_BASH_ONLY = compile_lazily(
    r"(?:(?<=[\n;&|])|\A)[ \t]*(?:(?:if|while|until|then|do|elif|!)[ \t]+)?"
    r"(?P<what>\[\[(?=\s)|source(?=\s)|shopt(?=\s)|declare(?=\s)|pushd(?=\s)|mapfile(?=\s)|\w+=\((?=[^)]*\))"
    r"|function\s+\w+)"
    r"|(?P<substitution>[\s=][<>]\((?=[\w.$/]))"
)


@check(requires=(SHELL,))
def unusable_command(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A command that fails in this container. Values: ``what``, ``why``, ``instead``."""
    words = [text for key in ("command", "args") for _, text in get_texts(target.data, key)]
    is_set_up = any(_CONDA_SET_UP.search(word) for word in words) or any(map(_LOGIN.fullmatch, words[:3]))
    for command, process in programs_of(target.data):
        texts = [word.text for word in process.words]
        if command is None or command.operator_after == "||":
            continue
        problem: tuple[str, str, str] | None = None
        if texts[:2] == ["conda", "activate"] and not is_set_up:
            problem = (
                "conda activate",
                "is a function that a shell without a terminal does not have",
                'write conda run -n NAME before the program, or eval "$(conda shell.bash hook)" here',
            )
        elif process.name == "mount" and len(texts) > 1 and not _may_mount(target):
            problem = (
                "mount",
                "needs the capability SYS_ADMIN, which the container does not have",
                "mount a volume instead; for /dev/shm, an emptyDir with medium Memory",
            )
        elif process.name in _INSTALLERS and "install" in texts and not any(map(_YES.fullmatch, texts[1:])):
            problem = (
                f"{process.name} install",
                "asks for confirmation before it installs packages, and aborts",
                f"write {process.name} install -y",
            )
        if problem is not None:
            what, why, instead = problem
            yield Violation(process.words[0].place, {"what": what, "why": why, "instead": instead})


def _may_mount(target: Target) -> bool:
    context = get_mapping(target.data, "securityContext")
    added = {text.removeprefix("CAP_") for _, text in get_texts(get_mapping(context, "capabilities"), "add")}
    return context.get("privileged") is True or not added.isdisjoint(("SYS_ADMIN", "ALL"))


_PIPEFAIL = compile_lazily(r"(?<![\w-])set\s+-[a-z]*o\s+pipefail")
# Systems whose sh is bash or busybox.
_OTHER_SYSTEM = compile_lazily(
    r"alpine|busybox|centos|fedora|rhel|\bubi|rocky|alma|openeuler|anolis|suse|amazonlinux|kylin|sourcefind|dcu|dtk"
)


@check(requires=(SHELL,))
def bash_syntax_in_sh(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Syntax of bash in a script for sh. Value: ``what``."""
    for line in exec_form.list_exec_commands(target.data):
        shell = exec_form.find_shell_call(line)
        if shell is None or shell.get_program_name(line).rpartition("/")[2] not in ("sh", "dash"):
            continue
        script, path = line.texts[shell.script_index], line.paths[shell.script_index]
        found = _BASH_ONLY.search(script)
        if found is not None and "<<" not in script[: found.start()]:
            group = "what" if found["what"] else "substitution"
            text = found[group].strip()
            yield Violation(
                TextPath(path, (found.end(group) - len(text), found.end(group))), {"what": text.strip("=")}
            )
            continue
        option = _PIPEFAIL.search(script)
        if option is not None and _has_dash(target.data):
            yield Violation(TextPath(path, option.span()), {"what": option[0]})


def _has_dash(container: Mapping[str, Any]) -> bool:
    """Whether sh is certainly dash: in images for training, unless their name tells another system."""
    image = get_text(container, "image").lower()
    trains = any(
        process.name in TRAINERS or process.name.startswith("python") for _, process in programs_of(container)
    )
    return trains and not _OTHER_SYSTEM.search(image)
