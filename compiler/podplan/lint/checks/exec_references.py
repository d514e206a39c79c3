"""References to variables, ``$(NAME)``, where Kubernetes does not replace them as somebody meant.

Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/;
podplan.launchers.exec_form has what is replaced where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.launchers import exec_form
from podplan.launchers.exec_form import Line
from podplan.launchers.kubelet import environment, expand, is_of_service
from podplan.lint.analysis.jobs import kind_of
from podplan.lint.analysis.over_ssh import over_ssh
from podplan.lint.checks.exec_words import sources
from podplan.lint.target import Hit, Subject

_REFERENCE = pattern(r"\$\$|\$\((?P<name>[A-Za-z_][A-Za-z0-9_]*)\)")
_OF_SHELL = pattern(r"\$\$|\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_CONSTANT = pattern(r"[A-Z][A-Z0-9_]+")
# Variables that images set, and that people extend.
_OF_IMAGE = frozenset(
    ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "PYTHONPATH", "HOME", "USER", "HOSTNAME", "PWD", "CUDA_HOME")
)
# Variables whose value is a text for a shell or a template, where $NAME is meant for later.
_FOR_LATER = pattern(
    r".*(?:CMD|COMMAND|SCRIPT|PROMPT|TEMPLATE|FORMAT|PATTERN|REGEX|ARGS|OPTS|OPTIONS)|PS[1-4]"
)
_READS_AGAIN = pattern(r"\b(?:eval|envsubst)\b")
_HOME = pattern(r"~(?:/|\Z)")
_SPECIAL = pattern(r"['\"`\\\\;&|<>()#\n]")
_HOME_IN_LIST = pattern(r"(?:\A|:)~/")
# Of GenericJob, which GEN002 looks at.
_OF_CONTROLLER = ("rank", "type")


def unresolved_reference(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """References in command and args to variables that the container does not have; ``name`` and ``why``."""
    container = subject.data
    declared = _declared(container)
    for line in exec_form.lines(container):
        if line.expansion != "all":
            continue
        shell = exec_form.shell(line)
        for at, (word, path) in enumerate(zip(line.texts, line.paths, strict=True)):
            if "$(" not in word or (shell is not None and at > shell.script):
                continue
            is_script = shell is not None and at == shell.script
            for name, escaped in _references(word):
                why = _why_unresolved(subject, name, declared, is_script=is_script, escaped=escaped)
                if why:
                    yield Hit(_place(path, word, name), {"name": name, "why": why})
                    break


def _place(path: Path, text: str, name: str) -> Path:
    """The path of a text with the range of the first reference to a name in it."""
    start = text.find(f"$({name})")
    return TextPath(path, (start, start + len(name) + 3)) if start >= 0 else path


def _why_unresolved(
    subject: Subject, name: str, declared: set[str], *, is_script: bool, escaped: bool
) -> str:
    if escaped:
        return (
            "two dollar signs keep Kubernetes from replacing it" if name in declared and not is_script else ""
        )
    if (
        name in declared
        or is_of_service(name)
        or subject.data.get("envFrom")
        or _is_of_controller(subject, name)
    ):
        return ""
    if not is_script:
        return "the container has no variable of that name; those of the image are unknown to Kubernetes"
    if _CONSTANT.fullmatch(name):
        return f"the container has no variable of that name, so the shell runs {name} as a command"
    return ""


def _is_of_controller(subject: Subject, name: str) -> bool:
    return name.lower() in _OF_CONTROLLER and kind_of(subject.job) == "GenericJob"


def _references(word: str) -> Iterator[tuple[str, bool]]:
    """The names of the references in a word, and whether ``$$`` stands before them."""
    escaped = -1
    for found in _REFERENCE.finditer(word):
        if found["name"]:
            yield found["name"], False
        else:
            escaped = found.end()
            if (named := _REFERENCE.match(word, escaped - 1)) and named["name"]:
                yield named["name"], True


def _declared(container: Mapping[str, Any]) -> set[str]:
    return {text(entry, "name") for _, entry in entries(container, "env")}


def env_value_not_expanded(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Values of env that keep a reference as it is written; values ``name``, ``reference`` and ``why``."""
    container = subject.data
    declared = _declared(container)
    before: set[str] = set()
    reads_again = _reads_again(subject)
    for at, entry in entries(container, "env"):
        name, value = text(entry, "name"), text(entry, "value")
        if "$" in value:
            found = _kept(subject, name, value, before, declared, reads_again)
            if found is not None:
                reference, why = found
                yield Hit(("env", at, "value"), {"name": name, "reference": reference, "why": why})
        before.add(name)


def _kept(
    subject: Subject, name: str, value: str, before: set[str], declared: set[str], reads_again: bool
) -> tuple[str, str] | None:
    """The first reference in a value that nobody replaces, and why."""
    complete = not subject.data.get("envFrom")
    for used, escaped in _references(value):
        if escaped or used in before or is_of_service(used) or _is_of_controller(subject, used):
            continue
        if used == name and complete:
            return f"$({used})", f"Kubernetes does not know the {used} of the image"
        if used in declared - {name}:
            return f"$({used})", f"{used} is declared after it"
        if complete:
            return f"$({used})", "the container has no variable of that name"
    by_flux = subject.job.gitops == "flux" and "${" in value
    if reads_again or by_flux or _FOR_LATER.fullmatch(name) or any(blank in value for blank in " \t\n"):
        return None
    for found in _OF_SHELL.finditer(value):
        used = found["plain"] or found["braced"] or ""
        if used and (used in declared or used in _OF_IMAGE):
            instead = f"write $({used})" if used in before else "Kubernetes replaces $(NAME) only"
            return found[0], f"no shell reads it; {instead}"
    if name in _OF_IMAGE and _HOME_IN_LIST.search(value):
        return "~", "no shell reads it"
    return None


def _reads_again(subject: Subject) -> bool:
    """Whether a shell reads values of variables later: on another host, or by eval or envsubst."""
    if over_ssh(subject.job):
        return True
    lines = (source.line for source in sources(subject))
    return any(_READS_AGAIN.search(word) for line in lines for word in line.texts)


def value_read_by_shell(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """References in a script to values with quotes or operators; values ``name`` and ``shell``."""
    container = subject.data
    for line in exec_form.lines(container):
        shell = exec_form.shell(line)
        if line.expansion == "none" or shell is None or "$(" not in line.texts[shell.script]:
            continue
        script, values = line.texts[shell.script], environment(container)
        used = dict.fromkeys(name for name, escaped in _references(script) if not escaped)
        special = {name: value for name in used if (value := values.get(name)) and _SPECIAL.search(value)}
        if special and _structure(script, special) != _structure(script, dict.fromkeys(special, "x")):
            name = next(iter(special))
            path = _place(line.paths[shell.script], script, name)
            yield Hit(path, {"name": name, "shell": shell.name(line)})


def _structure(script: str, values: Mapping[str, str]) -> tuple[list[str], bool]:
    """The operators that a shell reads in a script with these values, and whether it cannot read it."""
    from podplan.launchers.tokens import tokens

    found, fault = tokens(expand(script, values, complete=False).text)
    return [token.text for token in found if token.operator], fault is not None


def reference_outside_command(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """References in fields of a container in which Kubernetes replaces none; ``reference`` and ``why``."""
    container = subject.data
    declared = _declared(container)
    for path, value in _plain_fields(container):
        found = _in_plain_field(value, declared, subject)
        if found:
            yield Hit(path, {"reference": found, "why": _why_plain(path)})
    for number, mount in entries(container, "volumeMounts"):
        for name, _escaped in _references(text(mount, "subPathExpr")):
            if not _escaped and name not in declared and not container.get("envFrom"):
                why = "the container has no variable of that name, and does not start"
                at = ("volumeMounts", number, "subPathExpr")
                yield Hit(at, {"reference": f"$({name})", "why": why})
                break
    for line in exec_form.lines(container):
        if line.expansion != "all":
            yield from _in_hook_or_probe(container, line, declared)


def _plain_fields(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for field in ("image", "workingDir"):
        yield (field,), text(container, field)
    for number, mount in entries(container, "volumeMounts"):
        for field in ("mountPath", "subPath"):
            yield ("volumeMounts", number, field), text(mount, field)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        for field in ("path", "host"):
            yield (probe, "httpGet", field), text(mapping(mapping(container, probe), "httpGet"), field)


def _in_plain_field(value: str, declared: set[str], subject: Subject) -> str:
    for name, escaped in _references(value):
        if not escaped and not _is_of_controller(subject, name):
            return f"$({name})"
    for found in _OF_SHELL.finditer(value):
        name = found["plain"] or found["braced"] or ""
        by_flux = subject.job.gitops == "flux" and found["braced"]
        if (name in declared or name in _OF_IMAGE) and not by_flux:
            return found[0]
    return "~" if _HOME.match(value) else ""


def _why_plain(path: Path) -> str:
    if path[-1] == "subPath":
        return "Kubernetes replaces variables in subPathExpr, not in subPath"
    return f"Kubernetes replaces no variables in {path[-1]}"


def _in_hook_or_probe(container: Mapping[str, Any], line: Line, declared: set[str]) -> Iterator[Hit]:
    literal = {
        text(entry, "name") for _, entry in entries(container, "env") if not mapping(entry, "valueFrom")
    }
    shell = exec_form.shell(line)
    for at, (word, path) in enumerate(zip(line.texts, line.paths, strict=True)):
        is_script = shell is not None and at == shell.script
        for name, escaped in _references(word):
            known = name in declared or (_CONSTANT.fullmatch(name) is not None and not is_of_service(name))
            if escaped or not (known or not is_script):
                continue
            if line.expansion == "none":
                why = "Kubernetes replaces no variables in lifecycle hooks"
            elif name not in literal:
                got = "as empty" if name in declared else "not at all"
                why = f"in probes Kubernetes replaces variables with a literal value, this one {got}"
            else:
                continue
            yield Hit(_place(path, word, name), {"reference": f"$({name})", "why": why})
            break
