"""Expressions beyond the reference set: functions, variables, errors with their place, bounds."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from podplan.core.errors import UsageError
from podplan.core.limits import MAX_CEL_LENGTH, LimitExceeded
from podplan.lint.cel import sandbox
from podplan.lint.cel.rules import (
    CelRules,
    CelVerdict,
    ExpressionError,
    NamedExpression,
    Validation,
    ValidationFailure,
)
from podplan.lint.cel.sandbox import evaluate_rules, find_compile_errors, require_extra
from podplan.lint.cel.text import iter_object_paths, rename_variable

TRUE = (
    "1 < 1.5 && 2.0 >= 1",
    "quantity('1Gi').isInteger() && !quantity('1000m').isInteger() && quantity('1000m') == quantity('1')",
    "quantity('50k').add(2).asInteger() == 50002 && quantity('2').sub(quantity('500m')).sign() == 1",
    "quantity('128974848').compareTo(quantity('129e6')) == -1 && !isQuantity('16GB') && !isQuantity(' 1')",
    "quantity('1.5').asApproximateFloat() == 1.5 && quantity('2').isGreaterThan(quantity('1'))",
    "url('https://u:p@h.example:80/p%20a?x=1&x=2').getQuery() == {'x': ['1', '2']}",
    "url('http://[::1]:80/').getHostname() == '::1' && url('http://[::1]:80/').getPort() == '80'",
    "url('/a b').getEscapedPath() == '/a%20b' && url('HTTPS://h').getScheme() == 'https'",
    "!isURL('a.b/c') && !isURL('') && !isURL('http://a b/') && isURL('mailto:a@b.example')",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "cidr('10.0.0.0/8').prefixLength() == 8",
    "!cidr('10.0.0.0/8').containsIP(ip('::1')) && !isCIDR('10.0.0.0/33')",
    "ip.isCanonical('::1') && !ip.isCanonical('0::1')",
    "!isIP('::ffff:1.2.3.4') && ip('127.0.0.1').isLoopback()",
    "ip('10.0.0.1').isGlobalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()",
    "ip('fe80::1').isLinkLocalUnicast()",
    "[].sum() == 0 && [1.5, 2.0].sum() == 3.5 && [3, 1, 2].max() == 3 && ['b', 'a'].min() == 'a'",
    "[1, 1, 2].isSorted() && !['b', 'a'].isSorted() && ['a', 'b'].indexOf('b') == 1 && [1].indexOf(2) == -1",
    "[1, 2, 1].lastIndexOf(1) == 2 && 'abc'.indexOf('c') == 2 && 'aa'.lastIndexOf('a') == 1",
    "'abc12'.find('([a-z]+)([0-9])') == 'abc1' && 'a'.find('b') == '' && '[(]'.find('[(]') == '('",
    "'abab'.findAll('a(b)') == ['ab', 'ab'] && '123'.findAll('[0-9]', 2) == ['1', '2']",
    "format.dns1123Label().validate('Ab').hasValue() && !format.dns1123Label().validate('ab').hasValue()",
    "format.named('uuid').value().validate('x').value().size() == 1 && !format.named('no').hasValue()",
    "!format.dns1123LabelPrefix().validate('ab-').hasValue()",
    "format.date().validate('2026-02-30').hasValue()",
    "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').compareTo(semver('1.0.0')) < 0",
    "isSemver('v1.0', true) && !isSemver('v1.0') && semver('v01.2', true).minor() == 2",
    "sets.equivalent([1, 2], [2, 1]) && sets.contains(['a', 'b'], ['a'])",
    "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && {'a': 1}.transformMapEntry(k, v, {v: k}) == {1: 'a'}",
    "[1, 2].transformList(i, v, i + v) == [1, 3] && [1, 2].exists(i, v, i == 1 && v == 2)",
    "strings.quote('a') == '\"a\"' && 'a,b'.split(',').join('-') == 'a-b' && 'A'.lowerAscii() == 'a'",
    "[?optional.none(), ?optional.of(1)] == [1] && optional.ofNonZeroValue(0).orValue(2) == 2",
    "timestamp('2026-01-01T00:00:00Z').getFullYear() == 2026 && duration('90m').getHours() == 1",
    "!'x'.matches('^(a+)+$')",
    "oldObject == null && params == null",
    "'variables.nothing' != '' // variables.nothing",
)


def judged(
    expression: str, object_: Any = None, *variables: tuple[str, str], message: str = ""
) -> CelVerdict:
    rules = CelRules((Validation(expression, message),), tuple(NamedExpression(*one) for one in variables))
    return evaluate_rules(rules, {"object": object_})


@pytest.mark.parametrize("expression", TRUE)
def test_a_true_expression(expression: str) -> None:
    assert judged(expression) == CelVerdict()


def test_variables_are_worked_out_in_order_and_may_be_optionals_and_quantities() -> None:
    variables = (("a", "object.?a"), ("b", "variables.a.?b"), ("q", "quantity('1')"))
    assert judged("variables.b.orValue(3) == 3", {}, *variables) == CelVerdict()
    assert judged("variables.b.value() == 4", {"a": {"b": 4}}, *variables) == CelVerdict()
    assert judged("variables.q.isLessThan(quantity('2'))", {}, *variables) == CelVerdict()


def test_a_variable_may_fail_as_long_as_nothing_uses_it() -> None:
    assert judged("variables.x == 1 || true", {}, ("x", "object.a")) == CelVerdict()
    (fault,) = judged("variables.y == 1", {}, ("x", "object.a"), ("y", "variables.x")).errors
    assert fault == ExpressionError(
        ("variables", 0, "expression"), 'there is no "a" here; ask with has() or .? first'
    )


def test_a_variable_must_be_defined_before_it_is_used() -> None:
    (fault,) = judged("true &&\n variables.z == 1").errors
    assert (fault.line, fault.column) == (2, 2)
    assert fault.message == 'no variable "z" is defined before this expression'


def test_match_conditions_end_the_matter_even_beside_one_that_fails() -> None:
    failing, false = NamedExpression("c", "object.x"), NamedExpression("d", "false")
    only = CelRules((Validation("false"),), (), (failing,))
    both = CelRules((Validation("false"),), (), (failing, false))
    assert evaluate_rules(only, {"object": {}}).errors[0].path == ("matchConditions", 0, "expression")
    assert evaluate_rules(both, {"object": {}}) == CelVerdict()


@pytest.mark.parametrize(
    ("expression", "line", "column", "words"),
    [
        ("object.x ==\n  nothing", 2, 3, '"nothing" is neither a variable nor a function'),
        ("quantity('1') + 1 == 2", 1, 15, "no matching overload for '_+_'"),
        ("object.a.b(", 1, 12, "syntax error: the expression ends"),
        ("authorizer.group('').check('x').allowed()", 1, 1, "live API server"),
        ("'text'", 0, 0, "must come to true or false, and is of type string"),
        ("string(ip('::1')) == '::1'", 1, 7, "'string'"),
        ("'abc'.reverse() == 'cba'", 1, 14, '"reverse" is neither'),
    ],
)
def test_what_does_not_compile_has_a_place(expression: str, line: int, column: int, words: str) -> None:
    (fault,) = find_compile_errors(CelRules((Validation(expression),)))
    assert (fault.line, fault.column) == (line, column)
    assert words in fault.message
    assert judged(expression).errors == (fault,)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("[].max() == 1", "empty list"),
        ("[1, 'a'].min() == 1", "all of one type"),
        ("[duration('1s')].max() == duration('1s')", "podplan does not support max()"),
        ("quantity('1000m').asInteger() == 1", "asInteger()"),
        ("'a'.findAll('a*').size() == 1", "podplan does not support findAll()"),
        ("'a'.find('(') == ''", "invalid regular expression"),
        ("object.a.b", "has no fields"),
        ("object.a", "must come to true or false"),
        ("object.list[3] == 1", "index"),
        ("1 / int(object.zero) == 1", "divide by zero"),
    ],
)
def test_what_fails_says_why(expression: str, words: str) -> None:
    (fault,) = judged(expression, {"a": "x", "list": [], "zero": 0}).errors
    assert words in fault.message


def test_a_message_expression_gives_the_sentence_or_nothing() -> None:
    assert judged("false", {"n": 3}, message="'has ' + string(object.n)").failures == (
        ValidationFailure(0, "has 3"),
    )
    for useless in ("object.missing", "'two\\nlines'", "'  '"):
        assert judged("false", {}, message=useless).failures == (ValidationFailure(0, ""),)
    assert judged("false", message="1").errors[0].path == ("validations", 0, "messageExpression")


def test_numbers_are_what_the_api_server_decodes() -> None:
    assert judged("object.big > 1.0e18 && type(object.big) == double", {"big": 2**70}) == CelVerdict()


def itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


@pytest.mark.parametrize(
    ("expression", "object_"),
    [
        ("'a'.size() > " + "0" * MAX_CEL_LENGTH, None),
        ("object.all(x, object.all(y, object.all(z, true)))", [1] * 40),
        ("object.size() > 0", itself()),
        pytest.param(
            ".replace('a', object)".join(["object", *[""] * 4]) + ".size() > 1",
            "a" * 1000,
            marks=pytest.mark.long,
        ),
    ],
    ids=["length", "iterations", "cycle", "memory"],
)
def test_a_bound_is_a_sentence_and_the_next_one_is_judged(expression: str, object_: Any) -> None:
    with pytest.raises(LimitExceeded, match=r"; "):
        judged(expression, object_)
    assert judged("true") == CelVerdict()


def test_what_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox._stop_process()
    quick = "from podplan.core import limits; limits.MAX_CEL_SECONDS = 0.2; "
    monkeypatch.setattr(
        sandbox, "_WORKER_CODE", sandbox._WORKER_CODE.replace("from podplan", quick + "from podplan", 1)
    )
    slow = "object.all(x, object.all(y, (x + y).replace('x', 'yz') != ''))"
    with pytest.raises(LimitExceeded, match="seconds"):
        judged(slow, ["x" * 50_000] * 99)
    sandbox._stop_process()


def test_a_crash_of_the_evaluator_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox._stop_process()
    monkeypatch.setattr(sandbox, "_WORKER_CODE", "import os; input(); os.abort()")
    with pytest.raises(LimitExceeded):
        judged("true")
    monkeypatch.undo()
    assert judged("true") == CelVerdict()


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox._stop_process()
    for module in ("cel_expr_python", "cel_expr_python.cel"):  # other tests of this process import both
        monkeypatch.setitem(sys.modules, module, None)
    for asked in (require_extra, lambda: judged("true")):
        with pytest.raises(UsageError, match=r'pip install "podplan\[cel\]"'):
            asked()


def test_the_fields_that_an_expression_names() -> None:
    text = "object.spec.?hostNetwork.orValue(false) && object.spec.containers.all(c, c.object.x) // object.no"
    assert list(iter_object_paths(text)) == [("spec", "hostNetwork"), ("spec", "containers")]


def test_renaming_a_variable_leaves_fields_and_texts() -> None:
    assert rename_variable("object.object == 'object' && x.object", "object", "c") == (
        "c.object == 'object' && x.object"
    )
