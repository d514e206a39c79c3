"""Exit statuses that a shell hides from the controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import below
from podplan.core.truncation import truncate
from podplan.core.typing import Any
from podplan.launchers.exit_status import HiddenStatus, find_hidden_status
from podplan.launchers.words import Word
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.processes import find_endless_process, process_of
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_EFFECTS = {"ended": "the container ends at once, the training with it, and counts as a success"}
_INSTEAD = {
    "pipe": 'start the script with "set -o pipefail" (in bash), or write to the file with "> FILE 2>&1"',
    "alternative": 'remove the command after "||", or end it with "exit 1"',
    "next": 'start the script with "set -e", or save $? after the program and exit with it',
    "background": 'start it with exec, in the foreground, or end the script with "wait $!"',
    "ended": 'start it with exec, in the foreground, or end the script with "wait $!"',
    "wait": 'write "wait $!", and for several processes "wait ID1 && wait ID2" with the id of each',
}


@check(requires=(SHELL,))
def hidden_exit_status(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A training whose failure its shell hides; values ``program``, ``how``, ``effect``, ``instead``."""
    if is_mode_enabled(subject.job, "debug"):
        return
    for group in subject.job.pods:
        found = find_training_container(group)
        hidden = find_hidden_status(process_of(found[1])) if found is not None else None
        if found is not None and hidden is not None and not _is_in_endless_loop(found[1], hidden):
            values = {
                "program": command_name(hidden.words),
                "how": hidden.how,
                "effect": _EFFECTS.get(
                    hidden.cause, "a failed training counts as a success and is not restarted"
                ),
                "instead": _INSTEAD[hidden.cause],
            }
            related = []
            if hidden.by is not None:
                related = [(group.doc, below(found[0], hidden.by.place), "its exit status counts")]
            yield Violation(
                below(found[0], hidden.words[0].place), values, related, doc=group.doc, group=group
            )


def _is_in_endless_loop(container: Mapping[str, Any], hidden: HiddenStatus) -> bool:
    """Whether a program is in a loop that never ends, so that the shell has no exit status."""
    endless = find_endless_process(container)
    return endless is not None and bool(endless.loop) and hidden.words[0].start > endless.words[0].start


def command_name(words: tuple[Word, ...]) -> str:
    """Format a command for a message: the program and its script."""
    script = words[1].text if len(words) > 1 and not words[1].text.startswith("-") else ""
    return truncate(f"{words[0].base_name} {script}".strip(), 60)
