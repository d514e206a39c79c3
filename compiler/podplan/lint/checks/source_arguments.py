"""Arguments that the parser of a Python script refuses, or lacks.

Sources: https://docs.python.org/3/library/argparse.html (parse_args ends the program with code 2),
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/launcher/launch.py (--local_rank),
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/__init__.py (add_config_arguments),
https://docs.pytorch.org/docs/stable/distributed.html#launch-utility.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping
from podplan.launchers.commands import DeepSpeedCommand
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import spec_of
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.python_sources import (
    PythonSource,
    get_constant,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.source_ranks import count_processes_of_source
from podplan.lint.target import LoweredJob, Target, Violation

_TAKES_DEVICE = ("set_device", "device")
_PARSERS = ("argparse.ArgumentParser", "ArgumentParser")
_PLAIN_KEYWORDS = frozenset(("description", "prog", "usage", "epilog", "formatter_class"))
_OF_DEEPSPEED = ("--deepspeed", "--deepspeed_config", "--deepscale", "--deepscale_config", "--deepspeed_mpi")


class ScriptParser(NamedTuple):
    """The options that a script knows, those that it requires, and the call that reads the arguments."""

    options: frozenset[str]
    required: tuple[tuple[str, ...], ...]
    call: ast.Call

    def knows(self, name: str) -> bool:
        """Whether a long option is known, or the beginning of one."""
        return any(option.startswith(name) for option in self.options)


@check(requires=(PYTHON_TEXT,))
def source_argument_refused(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An argument that a script does not know, or requires and does not get. Values: ``file``, ``what``."""
    job = target.job
    for source in list_python_sources(job):
        parser = find_parser(source.tree)
        if parser is None or "sys.argv" in source.text:
            continue
        place, start = source.locate(parser.call), source.launch.invocation.program_word
        started = (source.launch.group.doc, source.launch.locate_word(start), "starts it")
        passed = _find_passed(job, source)
        if passed and not any(parser.knows(name) for name in passed[1]):
            what = f"does not know {passed[1][0]}, which {passed[0]} passes to each process"
            yield Violation(
                place, {"file": source.name, "what": what}, [started], doc=source.doc, group=source.group
            )
        if any(not word.is_known or word.text == "--" for word in source.arguments):
            continue
        given = [word.text.partition("=")[0] for word in source.arguments]
        for placed in list_program_options(job, source.launch):
            name = placed.option.name
            if name.startswith("--") and len(name) > 2 and name in given and not parser.knows(name):
                related = [(source.doc, place, "reads the arguments")]
                values = {"file": source.name, "what": f"does not know {name}"}
                group = source.launch.group if placed.doc is source.launch.group.doc else None
                yield Violation(placed.path, values, related, doc=placed.doc, group=group)
        for names in parser.required:
            is_given = any(
                name.startswith(one) if one.startswith("--") else one.startswith(name)
                for name in names
                for one in given
                if one.startswith("-") and len(one) > 1
            )
            if not is_given:
                values = {"file": source.name, "what": f"requires {names[-1]}, which nothing passes"}
                yield Violation(place, values, [started], doc=source.doc, group=source.group)


@check(requires=(PYTHON_TEXT,))
def source_local_rank_default(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A local rank that each process takes from the default of an option. Values: ``file``, ``option``,
    ``default``, ``processes``."""
    job = target.job
    for source in list_python_sources(job):
        invocation = source.launch.invocation
        processes = count_processes_of_source(job, source)
        if invocation.launcher != "torchrun" or processes is None or processes.per_pod < 2:
            continue
        names = {word.text.partition("=")[0].replace("_", "-") for word in source.arguments}
        if "--local-rank" in names or _reads_local_rank(source.text):
            continue
        found = next(_iter_local_rank_options(source.tree), None)
        if found is not None:
            call, option, default = found
            values = {
                "file": source.name,
                "option": option,
                "default": default,
                "processes": processes.per_pod,
            }
            started = (
                source.launch.group.doc,
                source.launch.locate_word(invocation.program_word),
                "starts the processes",
            )
            yield Violation(source.locate(call), values, [started], doc=source.doc, group=source.group)


def _reads_local_rank(text: str) -> bool:
    """Whether a script may have its local rank from elsewhere, such as a variable or a library."""
    return any(
        name in text for name in ("LOCAL_RANK", "environ", "getenv", "local_rank()", "spawn", "device_count")
    )


def _iter_local_rank_options(tree: ast.Module) -> Iterator[tuple[ast.Call, str, int]]:
    """Yield the option for the local rank from which a script takes its GPU, with its default."""
    uses = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and get_dotted_name(node.func).rpartition(".")[2] in _TAKES_DEVICE
        and any(get_dotted_name(one).rpartition(".")[2] == "local_rank" for one in node.args)
    ]
    for node in ast.walk(tree) if uses else ():
        if not isinstance(node, ast.Call) or not get_dotted_name(node.func).endswith(".add_argument"):
            continue
        names = [name for name in map(get_constant, node.args) if isinstance(name, str)]
        option = next((name for name in names if name.replace("_", "-") == "--local-rank"), "")
        default = get_constant(next((one.value for one in node.keywords if one.arg == "default"), None))
        if option and type(default) is int and default >= 0:
            yield node, option, default


def _find_passed(job: LoweredJob, source: PythonSource) -> tuple[str, tuple[str, ...]] | None:
    """Return the launcher that passes a local rank, and the spellings of that option."""
    line = find_deepspeed_line(job)
    invocation = source.launch.invocation
    parsed = line.command_line if line is not None else invocation.parsed
    if isinstance(parsed, DeepSpeedCommand):
        is_off = get_mapping(spec_of(job), "config").get("localRank", True) is not True
        is_sure = parsed.command_line.is_certain and "no_local_rank" not in parsed.flags and not is_off
        return ("deepspeed", ("--local_rank",)) if is_sure else None
    if invocation.launcher == "torch.distributed.launch" and "use_env" not in invocation.options:
        return "torch.distributed.launch", ("--local-rank", "--local_rank")
    return None


def find_parser(tree: ast.Module) -> ScriptParser | None:
    """Return the only parser of a script, if all of its options are known."""
    created = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and get_dotted_name(node.func).endswith("ArgumentParser")
    ]
    statements = list(iter_certain_statements(tree))
    name = next((_find_name(one, created) for one in statements if _find_name(one, created)), "")
    if len(created) != 1 or not name or get_dotted_name(created[0].func) not in _PARSERS:
        return None
    given = created[0].args  # at most prog, usage, description and epilog
    is_plain = len(given) <= 4 and all(isinstance(get_constant(one), str) for one in given)
    if not is_plain or any(one.arg not in _PLAIN_KEYWORDS for one in created[0].keywords):
        return None
    certain = [node for statement in statements for node in iter_certain_expressions(statement)]
    options: set[str] = {"--help"}
    required: list[tuple[str, ...]] = []
    calls: list[ast.Call] = []
    accounted = 1
    for node in certain:
        if not isinstance(node, ast.Call):
            continue
        called = get_dotted_name(node.func)
        if called == f"{name}.add_argument":
            spelled = [get_constant(one) for one in node.args]
            texts = tuple(one for one in spelled if isinstance(one, str))
            if len(texts) != len(spelled) or _takes_the_rest(node):
                return None
            accounted += 1
            options.update(one for one in texts if one.startswith("-"))
            needs = any(one.arg == "required" and get_constant(one.value) is True for one in node.keywords)
            if needs and texts:
                required.append(texts)
        elif called == f"{name}.parse_args" and not node.args and not node.keywords:
            accounted += 1
            calls.append(node)
        elif called == "deepspeed.add_config_arguments" and len(node.args) == 1:
            if get_dotted_name(node.args[0]) != name:
                return None
            accounted += 1
            options.update(_OF_DEEPSPEED)
    # parser = deepspeed.add_config_arguments(parser) stores the name again.
    stores = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(get_dotted_name(one) == name for one in node.targets)
    ]
    stored_again = sum(
        isinstance(one.value, ast.Call)
        and get_dotted_name(one.value.func) == "deepspeed.add_config_arguments"
        for one in stores
    )
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
    if len(calls) != 1 or len(stores) != 1 + stored_again or uses != accounted + stored_again:
        return None
    return ScriptParser(frozenset(options), tuple(required), calls[0])


def _find_name(statement: ast.stmt, created: list[ast.Call]) -> str:
    """Return the name that a statement gives to the parser; "" for other statements."""
    if not isinstance(statement, ast.Assign) or statement.value not in created or len(statement.targets) != 1:
        return ""
    return get_dotted_name(statement.targets[0])


def _takes_the_rest(call: ast.Call) -> bool:
    """Whether an argument takes all further words, or is no usual one."""
    for keyword in call.keywords:
        if keyword.arg is None:
            return True
        if (
            keyword.arg == "nargs"
            and get_constant(keyword.value) not in ("*", "+", "?")
            and not isinstance(get_constant(keyword.value), int)
        ):
            return True
    return False
