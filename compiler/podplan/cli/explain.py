"""podplan explain"""

from __future__ import annotations

import click

from podplan.cli.output import write
from podplan.lint.catalogue import one, ours
from podplan.requests import RequestError
from podplan.rules import RULES


@click.command("explain")
@click.argument("topic")
def command(topic: str) -> int:
    """Explain a rule (RES001 or shm-missing) or a field (JobProfile.spec.shm, DeepSpeedJob.spec.config).

    Of a rule: what it says, what happens on the cluster, what to do, and examples. Of a field: what it means,
    its type and default, and the fields below it.
    """
    from podplan.report.rule_page import builtin_page, page

    for policy in ours():
        if topic in (policy.rule.code, policy.rule.name):
            write(page(one(policy.rule.code)))
            return 0
    for rule in RULES.values():
        if topic in (rule.code, rule.name):
            write(builtin_page(rule))
            return 0
    write(_field(topic))
    return 0


def _field(topic: str) -> str:
    from podplan.report.field_page import NoSuchField, page

    try:
        return page(topic)
    except NoSuchField as error:
        raise RequestError(str(error)) from None
