"""References to variables, ``$(NAME)``, where Kubernetes does not replace them as intended.

Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/;
podplan.launchers.exec_form states which fields Kubernetes expands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from re import Match

from podplan.core.findings import Path, TextPath, below, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers import exec_form
from podplan.launchers.exec_form import ExecCommand
from podplan.launchers.kubelet import expand_references, is_service_variable, resolve_environment
from podplan.lint.analysis.jobs import format_list, has_trait
from podplan.lint.analysis.over_ssh import starts_over_ssh
from podplan.lint.checks.exec_words import find_executed_lines
from podplan.lint.checks.registration import check
from podplan.lint.policy_scope import PolicyScope, list_kind_names
from podplan.lint.target import Target, Violation

_REFERENCE_PATTERN = compile_lazily(r"\$\$|\$\((?P<name>[A-Za-z_][A-Za-z0-9_]*)\)")
_SHELL_VARIABLE = compile_lazily(r"\$\$|\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})")
_CONSTANT_NAME = compile_lazily(r"[A-Z][A-Z0-9_]+")
# Variables that images set, and that people extend.
_IMAGE_VARIABLES = frozenset(
    ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "PYTHONPATH", "HOME", "USER", "HOSTNAME", "PWD", "CUDA_HOME")
)
# Variables whose value is a text for a shell or a template, which replaces $NAME later.
_DEFERRED_VARIABLE = compile_lazily(
    r".*(?:CMD|COMMAND|SCRIPT|PROMPT|TEMPLATE|FORMAT|PATTERN|REGEX|ARGS|OPTS|OPTIONS)|PS[1-4]"
)
_REEVALUATION = compile_lazily(r"\b(?:eval|envsubst)\b")
_SHELL_SPECIAL = compile_lazily(r"['\"`\\\\;&|<>()#\n]")
_HOME_IN_LIST = compile_lazily(r"(?:\A|:)~/")
# Syntax of kinds with env-expressions, which GEN002 checks.
_CONTROLLER_VARIABLES = ("rank", "type")
# Variables that only the controller of a GenericJob replaces, and that no other program knows.
_GENERIC_VARIABLE = compile_lazily(
    r"\$\((?:rank|replicas\[[\w-]+\]|service\.[\w-]+\[[^\]\n]{1,40}\](?:\.[\w-]+(?:\[[\w-]+\])?)?)\)"
)


@check()
def unresolved_reference(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """References in command and args to variables that the container does not have; ``name`` and ``why``."""
    container = target.data
    declared_names = _find_declared_names(container)
    for line in exec_form.list_exec_commands(container):
        if line.expansion != "all":
            continue
        shell = exec_form.find_shell_call(line)
        for index, (word, path) in enumerate(zip(line.texts, line.paths, strict=True)):
            if "$(" not in word or (shell is not None and index > shell.script_index):
                continue
            is_script = shell is not None and index == shell.script_index
            generic = _find_generic_variable(target, word, declared_names, is_script=is_script)
            if generic is not None:
                yield Violation(
                    TextPath(path, generic.span()),
                    {"name": generic[0][2:-1], "why": _format_replacing_kinds()},
                )
                continue
            for name, escaped in _iter_references(word):
                reason = _explain_unresolved(
                    target, name, declared_names, is_script=is_script, escaped=escaped
                )
                if reason:
                    related = [
                        (target.doc, below(target.base_path, each), "the prefix of its variables")
                        for each in _find_prefixes(container)
                    ]
                    yield Violation(_place(path, word, name), {"name": name, "why": reason}, related)
                    break


def _find_generic_variable(
    target: Target, text: str, declared_names: set[str], *, is_script: bool
) -> Match[str] | None:
    """Return the first env expression in a text of another kind; None if a script defines the name itself."""
    if "$(" not in text or target.job.cr is None or has_trait(target.job, "env-expressions"):
        return None
    found = _GENERIC_VARIABLE.search(text)
    is_own = is_script and re.search(r"(?:\A|[\s;])(?:function\s+)?rank\s*\(\)", text)
    return None if found is None or found[0][2:-1] in declared_names or is_own else found


def _format_replacing_kinds() -> str:
    kinds = list_kind_names(PolicyScope("job", needs=frozenset({"env-expressions"})))
    return f"only the controller of a {' or '.join(kinds)} replaces it"


def _place(path: Path, text: str, name: str) -> Path:
    """Return the path of a text with the range of the first reference to a name."""
    start = text.find(f"$({name})")
    return TextPath(path, (start, start + len(name) + 3)) if start >= 0 else path


def _explain_unresolved(
    target: Target, name: str, declared_names: set[str], *, is_script: bool, escaped: bool
) -> str:
    if escaped:
        return "two dollar signs prevent the replacement" if name in declared_names and not is_script else ""
    if (
        name in declared_names
        or is_service_variable(name)
        or _may_come_from_source(target.data, name)
        or _is_controller_variable(target, name)
    ):
        return ""
    prefixes = format_list([str(value_at(target.data, path)) for path in _find_prefixes(target.data)])
    if prefixes and (not is_script or _CONSTANT_NAME.fullmatch(name)):
        return f"envFrom puts {prefixes} before the keys, and the container has no variable of that name"
    if not is_script:
        return "the container has no variable of that name; Kubernetes does not know variables of the image"
    if _CONSTANT_NAME.fullmatch(name):
        return f"the container has no variable of that name, so the shell runs {name} as a command"
    return ""


def _may_come_from_source(container: Mapping[str, Any], name: str) -> bool:
    """Whether a ConfigMap or Secret of envFrom may have a variable: the name begins with its prefix."""
    return any(name.startswith(get_text(source, "prefix")) for _, source in get_entries(container, "envFrom"))


def _find_prefixes(container: Mapping[str, Any]) -> list[Path]:
    """Where envFrom has the prefixes of its variables."""
    return [
        ("envFrom", at, "prefix")
        for at, source in get_entries(container, "envFrom")
        if get_text(source, "prefix")
    ]


def _is_controller_variable(target: Target, name: str) -> bool:
    return name.lower() in _CONTROLLER_VARIABLES and has_trait(target.job, "env-expressions")


def _iter_references(word: str) -> Iterator[tuple[str, bool]]:
    """Yield the names of the references in a word, and whether they are escaped with ``$$``."""
    escape_end = -1
    for match in _REFERENCE_PATTERN.finditer(word) if "$" in word else ():
        if match["name"]:
            yield match["name"], False
        else:
            escape_end = match.end()
            if (escaped_match := _REFERENCE_PATTERN.match(word, escape_end - 1)) and escaped_match["name"]:
                yield escaped_match["name"], True


def _find_declared_names(container: Mapping[str, Any]) -> set[str]:
    return {get_text(entry, "name") for _, entry in get_entries(container, "env")}


@check()
def env_value_not_expanded(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Values of env that keep a reference unexpanded; values ``name``, ``reference`` and ``why``."""
    container = target.data
    declared_names = _find_declared_names(container)
    earlier_names: set[str] = set()
    is_reevaluated = _is_reevaluated_by_shell(target)
    for index, entry in get_entries(container, "env"):
        name, value = get_text(entry, "name"), get_text(entry, "value")
        generic = _find_generic_variable(target, value, declared_names, is_script=False)
        if generic is not None:
            values = {"name": name, "reference": generic[0], "why": _format_replacing_kinds()}
            yield Violation(("env", index, "value"), values)
        elif "$" in value:
            unexpanded = _find_unexpanded_reference(
                target, name, value, earlier_names, declared_names, is_reevaluated
            )
            if unexpanded is not None:
                reference, reason = unexpanded
                yield Violation(
                    ("env", index, "value"), {"name": name, "reference": reference, "why": reason}
                )
        earlier_names.add(name)


def _find_unexpanded_reference(
    target: Target,
    name: str,
    value: str,
    earlier_names: set[str],
    declared_names: set[str],
    is_reevaluated: bool,
) -> tuple[str, str] | None:
    """Return the first reference in a value that is not replaced, and the reason."""
    for variable, escaped in _iter_references(value):
        if (
            escaped
            or variable in earlier_names
            or is_service_variable(variable)
            or _is_controller_variable(target, variable)
        ):
            continue
        complete = not _may_come_from_source(target.data, variable)
        if variable == name and complete:
            return f"$({variable})", f"Kubernetes does not know the {variable} of the image"
        if variable in declared_names - {name}:
            return f"$({variable})", f"{variable} is declared after it"
        if complete:
            return f"$({variable})", "the container has no variable of that name"
    is_flux_variable = target.job.gitops_tool == "flux" and "${" in value
    if (
        is_reevaluated
        or is_flux_variable
        or _DEFERRED_VARIABLE.fullmatch(name)
        or any(blank in value for blank in " \t\n")
    ):
        return None
    for match in _SHELL_VARIABLE.finditer(value):
        variable = match["plain"] or match["braced"] or ""
        if variable == name and match[0] == value and name not in _IMAGE_VARIABLES:
            continue  # a placeholder of envsubst, and no reference to itself
        if variable and (variable in declared_names or variable in _IMAGE_VARIABLES):
            instead = (
                f"write $({variable})" if variable in earlier_names else "Kubernetes replaces $(NAME) only"
            )
            return match[0], f"no shell reads it; {instead}"
    if name in _IMAGE_VARIABLES and _HOME_IN_LIST.search(value):
        return "~", "no shell reads it"
    return None


def _is_reevaluated_by_shell(target: Target) -> bool:
    """Whether a shell expands values of variables later: on another host, or by eval or envsubst."""
    if starts_over_ssh(target.job):
        return True
    lines = (source.line for source in find_executed_lines(target))
    return any(_REEVALUATION.search(word) for line in lines for word in line.texts)


@check()
def value_read_by_shell(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """References in a script to values with quotes or operators; values ``name`` and ``shell``."""
    container = target.data
    for line in exec_form.list_exec_commands(container):
        shell = exec_form.find_shell_call(line)
        if line.expansion == "none" or shell is None or "$(" not in line.texts[shell.script_index]:
            continue
        script, values = line.texts[shell.script_index], resolve_environment(container)
        variables = dict.fromkeys(name for name, escaped in _iter_references(script) if not escaped)
        special_values = {
            name: value for name in variables if (value := values.get(name)) and _SHELL_SPECIAL.search(value)
        }
        if special_values and _parse_operators(script, special_values) != _parse_operators(
            script, dict.fromkeys(special_values, "x")
        ):
            name = next(iter(special_values))
            path = _place(line.paths[shell.script_index], script, name)
            yield Violation(path, {"name": name, "shell": shell.get_program_name(line)})


def _parse_operators(script: str, values: Mapping[str, str]) -> tuple[list[str], bool]:
    """Return the operators of a script with these values inserted, and whether it does not parse."""
    from podplan.launchers.tokens import tokenize

    parsed_tokens, error = tokenize(expand_references(script, values, is_complete=False).text)
    return [token.text for token in parsed_tokens if token.is_operator], error is not None


@check()
def reference_outside_command(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """References in fields of a container that Kubernetes does not expand; ``reference`` and ``why``."""
    container = target.data
    declared_names = _find_declared_names(container)
    for path, value in _iter_plain_fields(container):
        reference = _find_plain_reference(value, declared_names, target)
        if reference:
            yield Violation(path, {"reference": reference, "why": _explain_plain_field(path)})
    for number, mount in get_entries(container, "volumeMounts"):
        for name, _escaped in _iter_references(get_text(mount, "subPathExpr")):
            if not _escaped and name not in declared_names and not container.get("envFrom"):
                reason = "the container has no variable of that name, so it does not start"
                mount_path = ("volumeMounts", number, "subPathExpr")
                yield Violation(mount_path, {"reference": f"$({name})", "why": reason})
                break
    for line in exec_form.list_exec_commands(container):
        if line.expansion != "all":
            yield from _iter_hook_and_probe_violations(container, line, declared_names)


def _iter_plain_fields(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for field in ("image", "workingDir"):
        yield (field,), get_text(container, field)
    for number, mount in get_entries(container, "volumeMounts"):
        for field in ("mountPath", "subPath"):
            yield ("volumeMounts", number, field), get_text(mount, field)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        for field in ("path", "host"):
            yield (
                (probe, "httpGet", field),
                get_text(get_mapping(get_mapping(container, probe), "httpGet"), field),
            )


def _find_plain_reference(value: str, declared_names: set[str], target: Target) -> str:
    for name, escaped in _iter_references(value):
        if not escaped and not _is_controller_variable(target, name):
            return f"$({name})"
    for match in _SHELL_VARIABLE.finditer(value) if "$" in value else ():
        name = match["plain"] or match["braced"] or ""
        is_flux_variable = target.job.gitops_tool == "flux" and match["braced"]
        if (name in declared_names or name in _IMAGE_VARIABLES) and not is_flux_variable:
            return match[0]
    return "~" if value == "~" or value.startswith("~/") else ""


def _explain_plain_field(path: Path) -> str:
    if path[-1] == "subPath":
        return "Kubernetes replaces variables in subPathExpr, not in subPath"
    return f"Kubernetes replaces no variables in {path[-1]}"


def _iter_hook_and_probe_violations(
    container: Mapping[str, Any], line: ExecCommand, declared_names: set[str]
) -> Iterator[Violation]:
    literal_names = {
        get_text(entry, "name")
        for _, entry in get_entries(container, "env")
        if not get_mapping(entry, "valueFrom")
    }
    shell = exec_form.find_shell_call(line)
    for index, (word, path) in enumerate(zip(line.texts, line.paths, strict=True)):
        is_script = shell is not None and index == shell.script_index
        for name, escaped in _iter_references(word):
            is_known = name in declared_names or (
                _CONSTANT_NAME.fullmatch(name) is not None and not is_service_variable(name)
            )
            if escaped or not (is_known or not is_script):
                continue
            if line.expansion == "none":
                reason = "Kubernetes replaces no variables in lifecycle hooks"
            elif name not in literal_names:
                resolution = "as empty" if name in declared_names else "not at all"
                reason = (
                    f"in probes Kubernetes replaces variables with a literal value, this one {resolution}"
                )
            else:
                continue
            yield Violation(_place(path, word, name), {"reference": f"$({name})", "why": reason})
            break
