"""podplan explain"""

from __future__ import annotations

import os
import re

import click

from podplan.cli.help import HelpCommand
from podplan.cli.options import list_custom_policies, load_operator_versions
from podplan.cli.output import write_stdout
from podplan.cli.reporting import color_options, select_style
from podplan.cli.shell_completion import complete_topics
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.suggestions import suggest_phrase
from podplan.lint.registry import load_builtin_page, load_builtin_policies, load_policy_document
from podplan.report.sanitization import escape_workflow_commands
from podplan.report.terminal_style import Style

MAX_TOPIC_LENGTH = 1_000
# A code, a name or VAP:NAME; a field has dots, or is the name of a kind.
CUSTOM_RULE_CODE = re.compile(r"VAP:.+|[A-Z]{2,12}[0-9]{3}|[a-z0-9-]+")


@click.command("explain", cls=HelpCommand)
@click.argument("topic", shell_complete=complete_topics)
@click.option("--examples", is_flag=True, help="Print all examples of a rule.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@color_options("Colour of text output [auto].")
def command(topic: str, examples: bool, format_: str, color: str) -> int:
    """Explain a rule (RES001, shm-missing) or a field (spec.shm, DeepSpeedJob.spec.config.slotsPerWorker).

    For a rule: what it detects, what happens on the cluster, what to write instead, examples, and how to
    configure and suppress it. For a field: its meaning, type and default, its effect on the lowered objects
    with the basis of that knowledge, and the fields below it. A kind lists its fields. Fields are those of
    the version of the operator that the nearest configuration states.
    """
    topic = topic[:MAX_TOPIC_LENGTH]
    style = select_style(color, os.environ)
    page_text = _explain_rule(topic, format_, style, examples) or _explain_custom_rule(
        topic, format_, style, examples
    )
    page_text = page_text or _explain_field(topic, format_, style)
    write_stdout(page_text if format_ == "json" else escape_workflow_commands(page_text))
    return 0


def _explain_rule(topic: str, format_: str, style: Style, examples: bool) -> str:
    """Return the page of a rule by its code or name; "" if there is none."""
    from podplan.report.rule_text import describe_builtin_rule, describe_policy, render_json, render_text

    code = topic.upper()
    for policy in load_builtin_policies():
        if code == policy.rule.code or policy.rule.is_named(topic):
            data = describe_policy(load_policy_document(policy.rule.code))
            return render_json(data) if format_ == "json" else render_text(data, style, examples)
    for rule in BUILTIN_RULES.values():
        if code == rule.code or rule.is_named(topic):
            data = describe_builtin_rule(rule, load_builtin_page(rule.code))
            return render_json(data) if format_ == "json" else render_text(data, style, examples)
    return ""


def _explain_custom_rule(topic: str, format_: str, style: Style, examples: bool) -> str:
    """Return the page of a custom rule in the nearest configuration; "" if there is none with this name."""
    from podplan.report.rule_text import describe_custom_policy, render_json, render_text

    if not CUSTOM_RULE_CODE.fullmatch(topic):
        return ""
    for policy in list_custom_policies():
        if topic == policy.rule.code or policy.rule.is_named(topic):
            data = describe_custom_policy(policy)
            return render_json(data) if format_ == "json" else render_text(data, style, examples)
    return ""


def _explain_field(topic: str, format_: str, style: Style) -> str:
    from podplan.report.field_page import UnknownTopicError, explain_topic, render_json, render_page

    try:
        data = explain_topic(topic, load_operator_versions())
    except UnknownTopicError as error:
        names = [name for policy in load_builtin_policies() for name in (policy.rule.code, policy.rule.name)]
        rules = [*names, *BUILTIN_RULES, *(rule.name for rule in BUILTIN_RULES.values())]
        suggestion = (
            suggest_phrase(topic, rules) if "." not in topic and "did you mean" not in str(error) else ""
        )
        raise UsageError(f'no rule "{topic}"{suggestion}' if suggestion else str(error)) from None
    return render_json(data) if format_ == "json" else render_page(data, style)
