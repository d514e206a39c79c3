"""Detects secrets in plain data, for policies and for everything that podplan prints.

A value is secret because of the name next to it, the kind of its object, or its form: a password in a URL, a
private key, a token of a well-known service, a value that a command line assigns to the name of a secret.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.redaction.hints import may_hold_secret, may_hold_token
from podplan.redaction.secret_names import is_secret_field, is_secret_name
from podplan.redaction.secret_objects import has_secret_kind

Path = tuple[str | int, ...]

MIN_SECRET_LENGTH = 6  # characters of a value that a policy reports
_PUBLIC_FIELDS = frozenset({"apiVersion", "kind", "type", "immutable", "metadata", "items"})  # of a Secret
_PUBLIC_METADATA = frozenset({"name", "generateName", "namespace", "labels"})

# No secrets: words of YAML, numbers, placeholders, references and paths. The first pattern is for policies,
# which must avoid false positives; the second is for output.
_HARMLESS_VALUE = compile_lazily(
    r"true|false|none|null|yes|no|[0-9.]+|[<\[{(].*|/.*|[A-Z]:\\.*|\$.*|\S+\.(?:json|pem|key|crt|txt|ya?ml)",
    re.DOTALL | re.IGNORECASE,
)
_DISPLAYABLE_VALUE = compile_lazily(
    r"(?:true|false|none|null|yes|no|on|off|[0-9]{0,3}|<[^<>]*>|\$\{\{.*\}\}|\$\(\w+\)|\$\w+|\$\{\w+\}"
    r"|(?:/[\w.@+-]+)+/?|[\w./-]+\.(?:json|pem|key|crt|txt|ya?ml))\s*",
    re.DOTALL | re.IGNORECASE,
)
_DIGITS = compile_lazily("[0-9]{4,}")

_URL_WITH_PASSWORD = compile_lazily(r"[a-z0-9+.-]://[^/\s:@]*:[^/\s:@$]{3,}@", re.IGNORECASE)
PRIVATE_KEY_BEGIN = compile_lazily(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY")
_TOKEN = compile_lazily(
    r"\b(?:hf_[A-Za-z0-9]{30,}|gh[opsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}"
    r"|xox[abprs]-[A-Za-z0-9-]{20,}|sk-(?:proj-|ant-)?[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{35}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+)"
)
# The password of a URL, which may contain an "@", or a token in place of the user.
_USERINFO = compile_lazily(r"://(?:[^\s/@:\"']*:([^\s/\"']+)|([^\s/@:\"'$]{8,}))@")
_PRIVATE_KEY_END = compile_lazily(r"-----END [A-Z ]{0,40}PRIVATE KEY-----")
_BEARER = compile_lazily(r"\b(?:bearer|basic)\s+(?=[\w.~+/-]{6})", re.IGNORECASE)
# A name and its separator before a value: TOKEN=…, --api-key=…, "token": …; and an option before its value.
_ASSIGNMENT = compile_lazily(
    r"(?<![\w.$-])-{0,2}([A-Za-z_][\w.-]*)[\"']?(?:[ \t]{0,20}=|:(?=[\s\"']))[ \t]{0,20}"
)
# An option or a setting before its value: --api-key …, configure set api_key …
_OPTION = compile_lazily(
    r"(?<![\w.$-])(?:--?|config(?:ure)?[ \t]+set[ \t]+|setenv[ \t]+)([A-Za-z_][\w.-]*)[ \t]+(?!-)"
)
# Programs to which a password is given without a name: what a script has before it.
_GAP = r"(?:[ \t]|\\\n)"
_WORDS = r"(?:[^\n;|&]|\\\n){0,500}?"
_PLAIN = r"(?=[\"']?[^\s\"'$-])"  # no reference to a variable, and no option
_LOGIN = compile_lazily(
    r"(?<![\w.-])(?:"
    + "|".join(
        (
            rf"curl\b{_WORDS}\s(?:-[A-Za-z]{{0,20}}[uU]{_GAP}*|--(?:proxy-)?user(?:=|{_GAP}+))"
            r"[\"']?[^\s\"':$]*:(?=[\"']?[^\s\"':$])",
            rf"sshpass{_GAP}+-p{_GAP}*{_PLAIN}",
            rf"wandb{_GAP}+login\b{_WORDS}\s(?=[\"']?(?!-)[\w-]{{32}})",
            rf"(?:docker|podman|nerdctl|buildah|skopeo|oras|az|helm{_GAP}+registry){_GAP}+login\b{_WORDS}\s-p"
            rf"{_GAP}*=?{_PLAIN}",
            rf"redis-cli\b{_WORDS}\s(?:-a|--pass){_GAP}+{_PLAIN}",
            rf"mongo(?:sh|dump|restore|export|import)?{_GAP}{_WORDS}(?<=\s)-p{_GAP}+{_PLAIN}",
            # The password follows -p at once; a word after a blank is the database.
            rf"(?:mysql(?:dump|admin|import)?|mariadb(?:-dump|-admin)?){_GAP}{_WORDS}(?<=\s)-p{_PLAIN}",
            rf"mc{_GAP}+(?:alias{_GAP}+set|config{_GAP}+host{_GAP}+add)(?:{_GAP}+[^\s;|&]{{1,200}}){{3}}{_GAP}+"
            rf"{_PLAIN}",
            rf"(?:echo|printf){_GAP}+(?:-\w+{_GAP}+|[\"']%s(?:\\n)?[\"']{_GAP}+)*"
            rf"(?=[\"']?[^\s\"'$|-][^\s\"'|]{{0,500}}[\"']?{_GAP}*\|"
            rf"{_WORDS}(?:--password-stdin|--with-token|wandb{_GAP}+login|sudo{_GAP}+-S))",
            r"machine\s{1,20}\S{1,200}\s{1,20}login\s{1,20}\S{1,200}\s{1,20}password\s{1,20}",
        )
    )
    + ")"
)
_LOGIN_PROGRAMS = (
    "curl",
    "sshpass",
    "login",
    "redis-cli",
    "mongo",
    "mysql",
    "mariadb",
    "mc",
    "sudo",
    "machine",
)
# The key of a URL: a signature, or the path of a webhook.
_URL_KEY = compile_lazily(
    r"(?:[?&](?:sig|signature|x-(?:amz|goog)-signature)=(?=[\w%+/=-]{16})"
    r"|://hooks\.slack\.com/(?:services|workflows)/(?=[\w/]{16})"
    r"|://discord(?:app)?\.com/api/webhooks/(?=[\w/-]{16}))",
    re.IGNORECASE,
)
_SEPARATOR = compile_lazily(r"[\s;|&\"']")
_VALUE = compile_lazily(
    r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|[\"']([^\r\n]*)|(?:(?:bearer|basic|token)\s+)?([^\s\"']+)",
    re.IGNORECASE | re.DOTALL,
)
_VALUE_TERMINATORS = ";,&|)}]"
# Values of options that are paths or references, which a policy does not report in a command line.
_REFERENCE = compile_lazily(r"~.*|\.{1,2}/.*|@.*|(?:id|src|env|file|vault|arn)[:=].*", re.DOTALL)
_SECRET_NAME = compile_lazily(r"(?:[a-z0-9]+-)+secrets?")
_MAX_JSON_LENGTH = 1_000_000  # characters of a text that is parsed as JSON

# Fields whose keys are names of variables instead of fields.
_VARIABLE_FIELDS = frozenset({"env", "params", "values", "axes", "data", "properties"})
# Fields below the name of a secret that are no value: references, and the declaration of a param.
_NON_VALUE_FIELDS = frozenset(
    (
        *("secret", "configMap", "field", "valueFrom", "secretKeyRef", "configMapKeyRef", "fieldRef"),
        *("secretRef", "secretName", "name", "namespace", "key", "path", "optional", "audience", "mode"),
        *("expirationSeconds", "items", "defaultMode", "readOnly"),
        *("type", "title", "description", "format", "required", "deprecated", "pattern", "properties"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
        *("exclusiveMinimum", "exclusiveMaximum", "multipleOf", "additionalProperties"),
    )
)
_ENTRY_NAME_FIELDS = ("name", "key")
_PARAM_REFERENCE = compile_lazily(r"\bparams\s*(?:\.\s*(\w+)|\[\s*['\"]([^'\"]+)['\"])")


class SecretMatch(NamedTuple):
    """A secret in data: the path of the value, and the ``part`` of its text that is secret ("": all)."""

    path: Path
    part: str = ""


class Exposure(NamedTuple):
    """A secret in a word of a command line: a description in ``what``, and its range in the word."""

    number: int
    what: str
    span: tuple[int, int]


class _TextSecret(NamedTuple):
    """A secret in a text: offsets, the end exclusive; ``what`` is "" if it may be none."""

    start: int
    end: int
    what: str


def is_secret(name: str, value: str) -> bool:
    """Whether a variable certainly contains a secret as text: no path, number, reference or placeholder."""
    if has_secret_form(value):
        return True
    return len(value) >= MIN_SECRET_LENGTH and is_secret_name(name) and not _HARMLESS_VALUE.fullmatch(value)


def has_secret_form(value: str) -> bool:
    """Whether a text contains a password in a URL, a private key or a token of a well-known service."""
    return bool(
        ("://" in value and _URL_WITH_PASSWORD.search(value))
        or ("PRIVATE KEY" in value and PRIVATE_KEY_BEGIN.search(value))
        or (may_hold_token(value) and _TOKEN.search(value))
    )


def is_displayable(value: Any) -> bool:
    """Whether a value below the name of a secret may be shown, because it is none, or only refers to one."""
    if isinstance(value, str):
        return _DISPLAYABLE_VALUE.fullmatch(value) is not None
    if isinstance(value, dict):
        return not value  # a mapping of nulls is misread text
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return _DIGITS.search(str(value)) is None


def iter_secret_values(data: Any) -> Iterator[str]:
    """Yield the secret texts in data."""
    for secret in find_secrets(data):
        value = _value_at(data, secret.path)
        if secret.part:
            yield secret.part
        elif isinstance(value, dict):
            yield from (key for key in value if isinstance(key, str) and len(key) >= MIN_SECRET_LENGTH)
        elif not is_displayable(value):
            yield str(value)


def iter_flag_secrets(sets: Mapping[str, str]) -> Iterator[str]:
    """Yield the secret texts in the values of ``--set`` flags."""
    for key, text in sets.items():
        yield from (text[start:end] for start, end in find_text_secrets(text))
        data: Any = text
        if text[:1] in ("{", "["):
            try:
                data = json.loads(text)
            except (ValueError, RecursionError):
                data = text
        for step in reversed(key.split(".")):
            data = {step: data}
        yield from iter_secret_values(data)


# A value, the step that leads to it, and its parent node: paths are built only for secrets.
_TreeNode = tuple[Any, Any, Any]


def find_secrets(data: Any) -> Iterator[SecretMatch]:
    """Yield all secrets in data, each value once."""
    secret_paths: set[Path] = set()
    param_names: set[str] = set()  # params that the value of a secret comes from
    nodes: list[_TreeNode] = [(data, None, None)]
    while nodes:
        current = nodes.pop()
        if has_secret_kind(current[0]):
            yield from (
                SecretMatch((*_build_path(current), *path)) for path in _iter_secret_object_paths(current[0])
            )
            continue
        for path in _find_named_secrets(current):
            value = _value_at(data, path)
            if isinstance(value, str) and "${{" in value:
                param_names.update(match[1] or match[2] for match in _PARAM_REFERENCE.finditer(value))
            if path not in secret_paths and not is_displayable(value):
                secret_paths.add(path)
                yield SecretMatch(path)
        yield from (secret for secret in _find_partial_secrets(current) if secret.path not in secret_paths)
        children = _iter_children(current[0])
        nodes += [(value, key, current) for key, value in children if isinstance(value, dict | list)]
    yield from (
        SecretMatch(path) for path in _find_param_secrets(data, param_names) if path not in secret_paths
    )


def _find_named_secrets(tree_node: _TreeNode) -> Iterator[Path]:
    """Yield the paths of values that this node assigns to names of secrets."""
    node, step, parent = tree_node
    if isinstance(node, list):
        numbers = chain(_iter_option_values(node), _iter_login_words(node))
        yield from ((*_build_path(tree_node), number) for number in numbers)
    if not isinstance(node, dict):
        return
    is_variable = parent is not None and parent[1] == "env"
    if name_fields := _find_secret_name_fields(node, is_variable):
        for key, value in node.items():
            if key not in name_fields and (_is_value_field(key) or is_variable):
                yield from ((*_build_path(tree_node), key, *path) for path in _iter_value_paths(value))
    is_secret_key = is_secret_name if step in _VARIABLE_FIELDS else is_secret_field
    for key, value in node.items():
        if isinstance(key, str) and is_secret_key(key):
            yield from ((*_build_path(tree_node), key, *path) for path in _iter_value_paths(value))


def _find_secret_name_fields(node: dict[Any, Any], is_variable: bool) -> Collection[Any]:
    """Return the fields that name an entry, if one of them contains the name of a secret.

    In a variable, the field may have any name except that of the value.
    """
    proper_fields = [key for key in node if isinstance(key, str) and key.lower() in _ENTRY_NAME_FIELDS]
    candidates = [key for key in node if not _is_value(key)] if is_variable else proper_fields
    fields = [key for key in candidates if _contains_secret_name(node[key])]
    return {*proper_fields, *fields} if fields else ()


def _is_value(key: Any) -> bool:
    return key == "valueFrom" or (_is_value_field(key) and not key.lower().startswith("var"))


def _contains_secret_name(value: Any) -> bool:
    if isinstance(value, dict) and not _is_misread_text(value):
        return False
    names = value if isinstance(value, dict | list) else [value]
    return any(isinstance(name, str) and is_secret_name(name) for name in names)


def _find_param_secrets(data: Any, names: Collection[str]) -> Iterator[Path]:
    """Yield the paths of values that a profile and its environments assign to params."""
    spec = data.get("spec") if isinstance(data, dict) and names else None
    environments = spec.get("environments") if isinstance(spec, dict) else None
    locations: list[Path] = [("spec", "params")]
    if isinstance(environments, dict):
        locations += [("spec", "environments", name, "values") for name in environments]
    for location in locations:
        for name in names:
            value: Any = data
            for step in (*location, name):
                value = value.get(step) if isinstance(value, dict) else None
            for path in _iter_value_paths(value):
                if not is_displayable(_value_at(value, path)):
                    yield (*location, name, *path)


def _find_partial_secrets(tree_node: _TreeNode) -> Iterator[SecretMatch]:
    """Yield the secrets inside texts of this node."""
    for key, value in _iter_children(tree_node[0]):
        if isinstance(value, str):
            for start, end in find_text_secrets(value):
                yield SecretMatch((*_build_path(tree_node), key), value[start:end])


def _iter_children(node: Any) -> Iterable[tuple[Any, Any]]:
    return node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()


def _build_path(node: _TreeNode) -> Path:
    steps = []
    _, step, parent = node
    while parent is not None:
        steps.append(step)
        _, step, parent = parent
    return tuple(reversed(steps))


def _value_at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _is_value_field(key: Any) -> bool:
    """Whether a field of a named entry is its value, possibly misspelt."""
    return (
        isinstance(key, str)
        and (key.lower().startswith("va") or key in ("default", "content"))
        and (key != "valueFrom")
    )


def _iter_secret_object_paths(node: dict[Any, Any]) -> Iterator[Path]:
    """Yield all paths in a Secret, or a list of them, except for its identity."""
    for key, value in node.items():
        if key not in _PUBLIC_FIELDS:
            yield from ((key, *path) for path in _iter_scalar_paths(value))
    metadata, entries = node.get("metadata"), node.get("items")
    if isinstance(metadata, dict):
        for key, value in metadata.items():
            if key not in _PUBLIC_METADATA:
                yield from (("metadata", key, *path) for path in _iter_scalar_paths(value))
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield from (("items", number, *path) for path in _iter_secret_object_paths(entry))


def _iter_scalar_paths(value: Any) -> Iterator[Path]:
    for path in _iter_leaf_paths(value, lambda _key: True):
        scalar = _value_at(value, path)
        if scalar is not None and not isinstance(scalar, bool | dict | list):
            yield path


def _iter_value_paths(value: Any) -> Iterator[Path]:
    """Yield the paths of values below the name of a secret."""
    return _iter_leaf_paths(value, lambda key: key not in _NON_VALUE_FIELDS)


def _iter_leaf_paths(value: Any, includes_key: Callable[[Any], bool]) -> Iterator[Path]:
    """Yield the paths of scalars and of mappings that contain only nulls."""
    if isinstance(value, dict) and not _is_misread_text(value):
        for key, child in value.items():
            if includes_key(key):
                yield from ((key, *path) for path in _iter_leaf_paths(child, includes_key))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from ((number, *path) for path in _iter_leaf_paths(child, includes_key))
    else:
        yield ()


def _is_misread_text(value: dict[Any, Any]) -> bool:
    """Whether a mapping contains only nulls, as {abc} does, which may have been meant as text."""
    return bool(value) and all(below is None and key not in _NON_VALUE_FIELDS for key, below in value.items())


def _iter_option_values(words: Sequence[Any]) -> Iterator[int]:
    """Yield the indexes of words that are the value of the option before them: [--api-key, …]."""
    for number, (option, value) in enumerate(pairwise(words), 1):
        if (
            isinstance(option, str)
            and isinstance(value, str)
            and _is_option(option)
            and not _is_option(value)
        ):
            yield from [number] if "=" not in option and is_secret(option, value) else []


def _iter_login_words(words: Sequence[Any]) -> Iterator[int]:
    """Yield the indexes of words that contain a password without a name: [sshpass, -p, …]."""
    texts = [_SEPARATOR.sub("_", word) if isinstance(word, str) else "" for word in words]
    command = " ".join(texts)
    if not _may_log_in(command):
        return
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    for match in _LOGIN.finditer(command):
        if _find_value_span(command, match.end(), "authorization"):
            yield bisect_right(starts, match.end()) - 1


def _is_option(word: str) -> bool:
    return word.startswith("-")


def find_text_secrets(text: str) -> list[tuple[int, int]]:
    """Return where a text contains secrets, in order and without overlaps: offsets, the end exclusive."""
    return merge_spans((one.start, one.end) for one in _text_secrets(text))


def find_command_secrets(words: Sequence[str]) -> Iterator[Exposure]:
    """Yield the words of a command line that certainly contain a secret as text, each once."""
    of_options = set(_iter_option_values(words))
    of_logins = set(_iter_login_words(words))
    for number, word in enumerate(words):
        is_script = "\n" in word or " " in word  # the value of -c contains a secret, and is none
        is_value = number in of_options and not _REFERENCE.fullmatch(word)
        is_value = is_value and not _is_secret_name(words, number)
        if is_value and not is_script:
            yield Exposure(number, f"the value of {words[number - 1]}", (0, len(word)))
        elif number in of_logins:
            yield Exposure(number, "the password of a login", (0, len(word)))
        elif found := next((one for one in _text_secrets(word) if one.what), None):
            yield Exposure(number, found.what, (found.start, found.end))
        elif is_value:
            yield Exposure(number, f"the value of {words[number - 1]}", (0, len(word)))


def _is_secret_name(words: Sequence[str], number: int) -> bool:
    """Whether a word is the name of a Secret of Kubernetes, as in ``--secret admission-secret``."""
    return words[number - 1] == "--secret" and _SECRET_NAME.fullmatch(words[number]) is not None


def _text_secrets(text: str) -> Iterator[_TextSecret]:
    if not may_hold_secret(text):
        return
    if "://" in text:
        for match in _USERINFO.finditer(text):
            number = 1 if match[1] is not None else 2
            is_web = text.endswith(("http", "https"), 0, match.start())
            if not is_displayable(match[number]) and (number == 1 or is_web):
                is_password = number == 1 and not _HARMLESS_VALUE.fullmatch(match[number])
                yield _TextSecret(*match.span(number), "the password of a URL" if is_password else "")
    if "PRIVATE KEY" in text:
        yield from (_TextSecret(*span, "a private key") for span in _iter_private_keys(text))
    if may_hold_token(text):
        yield from (_TextSecret(*match.span(), "an access token") for match in _TOKEN.finditer(text))
    yield from _iter_assigned_values(text)
    if text.lstrip()[:1] in ("{", "[") and len(text) <= _MAX_JSON_LENGTH:
        yield from (_TextSecret(*span, "") for span in _iter_json_secrets(text))


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, with overlapping ones merged."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif start < end:
            merged.append((start, end))
    return merged


def _iter_private_keys(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while (begin := PRIVATE_KEY_BEGIN.search(text, position)) is not None:
        end = _PRIVATE_KEY_END.search(text, begin.end())
        position = end.end() if end is not None else len(text)
        yield begin.start(), position


def _iter_assigned_values(text: str) -> Iterator[_TextSecret]:
    """Yield the values that a text assigns to names of secrets."""
    for name_pattern in (_ASSIGNMENT, _OPTION):
        next_start = 0
        for match in name_pattern.finditer(text):
            is_secret_key = is_secret_field if match[0].rstrip().endswith(":") else is_secret_name
            if (
                match.end() >= next_start
                and is_secret_key(match[1])
                and (span := _find_value_span(text, match.end(), match[1]))
            ):
                yield span
                next_start = span.end
    for pattern, what in (
        (_BEARER, "the value of an Authorization header"),
        (_LOGIN, "the password of a login"),
        (_URL_KEY, "the key of a URL"),
    ):
        next_start = 0
        for match in pattern.finditer(text) if pattern is not _LOGIN or _may_log_in(text) else ():
            if match.end() >= next_start and (span := _find_value_span(text, match.end(), "authorization")):
                yield span._replace(what=span.what and what)
                next_start = span.end


def _may_log_in(text: str) -> bool:
    return any(program in text for program in _LOGIN_PROGRAMS)


def _find_value_span(text: str, position: int, name: str) -> _TextSecret | None:
    """Return the value of a name that begins at ``position``; None if it is no secret."""
    value = _VALUE.match(text, position)
    if value is None or value.lastindex is None:
        return None
    start, end = value.span(value.lastindex)
    if value.lastindex == 4:
        end = start + len(text[start:end].rstrip(_VALUE_TERMINATORS))
    if not is_secret(name, text[start:end]):
        return _TextSecret(start, end, "") if _DIGITS.fullmatch(text, start, end) else None
    return _TextSecret(start, end, "" if _REFERENCE.fullmatch(text, start, end) else f"the value of {name}")


def _iter_json_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the secrets in a text that is JSON, such as an annotation with a whole object."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(data, dict | list):
        return
    from podplan.redaction.matching import ValueMatcher

    values = [value for value in iter_secret_values(data) if len(value) >= MIN_SECRET_LENGTH]
    yield from ValueMatcher([*values, *(json.dumps(value)[1:-1] for value in values)]).iter_spans(text)
