"""Texts that another tool completes before the API server gets them: templates, and values with
placeholders."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress

from podplan.core.lazy_regex import compile_lazily
from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any
from podplan.workspace.files import OutsideRoot, iter_ancestors, read_inside_root

CHART_FILE, TEMPLATES_FOLDER = "Chart.yaml", "templates"
# {{ … }} of templates and Argo Workflows, $(params.NAME) and the like of Tekton and other workflows.
_FILLED_ANYWHERE = (
    r"(?<!\$)\{\{[^{}\n]*\}\}"
    r"|\$\((?:params|inputs|outputs|tasks|results|context|workspaces|finally|tt\.params)[.\[][^()\n]*\)"
)
# ${NAME}, ${NAME:-default} and $NAME of Flux and envsubst, <NAME> of instructions, %s of programs, @NAME@,
# __NAME__ and words such as IMAGE_PLACEHOLDER, REPLACE_ME and replaced-by-kustomize of sed and kustomize.
# ${{ … }} and $(NAME) are not: profiles and Kubernetes evaluate them.
_PLACEHOLDER = compile_lazily(
    rf"{_FILLED_ANYWHERE}|\$\{{[A-Za-z_][^{{}}\n]*\}}|\$[A-Za-z_][A-Za-z0-9_]*|<[A-Za-z][^<>\n]*>"
    r"|\b(?:[A-Z0-9]+_)*(?:PLACEHOLDER|REPLACE_?ME|CHANGE_?ME)(?:_[A-Z0-9]+)*\b|\bYOUR(?:_[A-Z0-9]+)+\b"
    r"|\breplaced?-(?:by|me|with)(?:-[a-z0-9]+)*\b"
    r"|%(?:\[\d+\])?s|@[A-Z][A-Z0-9_]*@|\b__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*__\b"
)
# V_IMAGE and the like, which sed replaces, are no names of anything but variables.
_VARIABLE_NAME = compile_lazily(r"([\"']?)[A-Z][A-Z0-9]*_[A-Z][A-Z0-9_]+\1")
_TEMPLATE_FILE = compile_lazily(r"\.(?:(?:tf)?te?m?pl|template)\.ya?ml\Z")
_WORKFLOW_PLACEHOLDER = compile_lazily(_FILLED_ANYWHERE)
_HELM_SOURCE = compile_lazily(r"(?m)^# Source: (\S+/templates/\S+)$")
_TEMPLATE_MARK = compile_lazily(r"(?<!\$)\{\{-?\s*[\w.$(\"/]|\{%-?\s*\w")


def find_placeholders(text: str) -> frozenset[str]:
    """Return the parts of a text that another tool fills in."""
    return frozenset(_PLACEHOLDER.findall(text))


def iter_placeholders(data: Any, excluded_fields: Collection[str] = ()) -> Iterator[str]:
    """Yield the placeholders in all values of a part of a document, but those below some fields."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += (below for key, below in value.items() if key not in excluded_fields)
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            yield from sorted(find_placeholders(value))


def is_variable_name(text: str) -> bool:
    """Whether a value, quoted or not, is the name of a variable in capitals, such as "V_IMAGE"."""
    return _VARIABLE_NAME.fullmatch(text) is not None


def is_template_file(file: str) -> bool:
    """Whether the name of a file says that it is a template, such as ``job.tpl.yaml``."""
    return _TEMPLATE_FILE.search(file) is not None


def find_workflow_placeholders(text: str) -> frozenset[str]:
    """Return the parts of a text that a template or a workflow fills in, also in command lines."""
    return frozenset(_WORKFLOW_PLACEHOLDER.findall(text))


def has_template_marks(text: str) -> bool:
    """Whether a text has marks of a template language, such as ``{{ .Values.image }}`` or ``{% if x %}``."""
    return _TEMPLATE_MARK.search(text) is not None


def find_rendered_template(text: str, line: int) -> str:
    """Return the template that helm names above a line of its output, in ``# Source: …``; "" for none."""
    found = ""
    for match in _HELM_SOURCE.finditer(text):
        if text.count("\n", 0, match.start()) >= line:
            break
        found = match[1]
    return found


def is_chart_template(file: str, root: str) -> bool:
    """Whether a file is a template of a Helm chart: below ``templates`` beside a ``Chart.yaml``."""
    folder = os.path.dirname(os.path.realpath(file))
    if f"{os.sep}{TEMPLATES_FOLDER}" not in folder:
        return False
    for ancestor in iter_ancestors(folder):
        if ancestor == root:
            break
        if os.path.basename(ancestor) == TEMPLATES_FOLDER:
            with suppress(OSError, OutsideRoot, LimitExceeded):
                read_inside_root(root, os.path.join(os.path.dirname(ancestor), CHART_FILE))
                return True
    return False
