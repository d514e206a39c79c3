"""--job NAME and --job KIND/NAME: one job of files that have several."""

from __future__ import annotations

from collections.abc import Callable

from podplan.cli.output import print_message
from podplan.core.errors import UsageError
from podplan.core.typing import Any, TypeVar
from podplan.pipeline import JobPlan, is_job

Command = TypeVar("Command", bound=Callable[..., Any])
_MAX_NAMES = 10  # in a message


def job_option(help_text: str) -> Callable[[Command], Command]:
    """Return the decorator that adds --job."""
    import click

    return click.option("--job", metavar="[KIND/]NAME", default="", help=help_text)


class JobSelection:
    """Selects the requested job among all plans, or every plan if none is requested."""

    def __init__(self, text: str) -> None:
        self.text = text
        kind, _, self._name = text.rpartition("/")
        self._kind = kind.lower()
        self._names: dict[str, None] = {}
        self._is_found = False

    def includes(self, plan: JobPlan) -> bool:
        """Whether a plan is that of the requested job, as far as that is known before it is compiled."""
        if not self.text:
            return True
        if plan.cr is None:
            return self._name.startswith(get_document_name(plan) or "/")
        if not is_job(plan):
            return False
        name = get_job_name(plan)
        self._names[name] = None
        is_included = name == self._name and self._kind in ("", str(plan.cr.data.get("kind")).lower())
        self._is_found |= is_included
        return is_included

    def require_found(self, file: str = "") -> None:
        """Raise UsageError if no plan is that of the requested job."""
        if not self.text or self._is_found or not self._names:
            return
        from podplan.core.suggestions import suggest_phrase

        names = list(self._names)
        more = ", …" if len(names) > _MAX_NAMES else ""
        known = (
            suggest_phrase(self._name, [name for name in names if name != self._name])
            or f"; there are {', '.join(names[:_MAX_NAMES])}{more}"
        )
        prefix = f"{file}: " if file else ""
        raise UsageError(f'{prefix}there is no job "{self.text}"{known}')


def get_job_name(plan: JobPlan) -> str:
    """Return the name of the job of a plan, or the beginning of a name that the API server completes."""
    metadata = plan.cr.data.get("metadata") if plan.cr is not None else None
    metadata = metadata if isinstance(metadata, dict) else {}
    return str(metadata.get("name") or metadata.get("generateName") or "")


def get_document_name(plan: JobPlan) -> str:
    """Return the name of the document that a plan is made of, "" if it has none."""
    data = plan.item.doc.data
    metadata = data.get("metadata") if isinstance(data, dict) else None
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def describe_plan(plan: JobPlan) -> str:
    """Name the job of a plan with the file that it is in."""
    data = plan.cr.data if plan.cr is not None else plan.item.doc.data
    kind = data.get("kind") if isinstance(data, dict) else None
    name = get_job_name(plan) or get_document_name(plan)
    variant = f" ({plan.variant_id})" if plan.cr is None and plan.variant_id else ""
    return f"{kind}/{name}{variant} of {plan.item.doc.name}"


def report_failed_jobs(failed: list[str], done: str) -> None:
    """Name on standard error the jobs with errors, which are not in the output; ``done`` is a participle."""
    if failed:
        more = f" and {len(failed) - _MAX_NAMES} more" if len(failed) > _MAX_NAMES else ""
        print_message(f"not {done}, because of the findings above: {', '.join(failed[:_MAX_NAMES])}{more}")
