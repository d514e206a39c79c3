"""What flags and configuration come to: each setting with its value and where that is from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from podplan import kubernetes
from podplan.config import Config
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.typing import Any, NamedTuple

DEFAULT, CLOCK = "default", "the clock"
DEFAULTS: Mapping[str, Any] = {
    "k8s-version": kubernetes.DEFAULT_VERSION,
    "fail-on": "error",
    "inventory": "",
    "gitops": {"tool": "none"},
    "render": (),
    "exclude": (),
    "lowering": {},
    "policies": (),
    "preset": "default",
    "preview": False,
    "select": (),
    "extend-select": (),
    "ignore": (),
    "severity": {},
    "paths": (),
    "pss": "",
    "mandatory": (),
    "require-reasons": True,
    "baseline": "",
    "today": "",
}
LISTS = ("select", "extend-select", "ignore")
# Flags that add to what the configuration says; any other flag takes its place.
ADDING = ("extend-select", "gitops", "ignore", "severity")


class Setting(NamedTuple):
    """A value, and the flag, the file and line, or the default that gives it."""

    value: Any
    source: str


def settings(config: Config, flags: Mapping[str, Any], clock: str = "") -> dict[str, Setting]:
    """Every setting by its key in the configuration. ``clock`` is the day where nothing else gives one.

    Raises RequestError for a flag that cannot be read.
    """
    found = {key: _setting(key, config, flags) for key in DEFAULTS}
    if clock and not found["today"].value:
        found["today"] = Setting(clock, CLOCK)
    return found


def shown(found: Mapping[str, Setting]) -> str:
    """The settings as TOML, one a line, each with its source as a comment."""
    lines = [(f"{key} = {_toml(one.value)}", one.source) for key, one in found.items()]
    width = min(max(len(text) for text, _ in lines), 60)
    return "".join(f"{text:{width}}  # {source}\n" for text, source in lines)


def _setting(key: str, config: Config, flags: Mapping[str, Any]) -> Setting:
    name = key.replace("-", "_")
    written = Setting(getattr(config, name), config.places[key]) if key in config.places else None
    given = flags.get(name)
    if not given:
        return written or Setting(DEFAULTS[key], DEFAULT)
    value = _value(key, given)
    if written is None or key not in ADDING:
        return Setting(value, f"--{key}")
    both = {**written.value, **value} if isinstance(value, dict) else (*written.value, *value)
    return Setting(both, f"{written.source} and --{key}")


def _value(key: str, given: Any) -> Any:
    """What a flag says, in the form in which the configuration has it."""
    if key == "gitops":
        return {"tool": given}
    return _words(given) if key in LISTS else severities(given) if key == "severity" else given


def severities(pairs: Iterable[str]) -> dict[str, Severity]:
    """What CODE=LEVEL pairs say. Raises RequestError."""
    levels = {str(level): level for level in Severity}
    found: dict[str, Severity] = {}
    for pair in pairs:
        code, _, level = pair.partition("=")
        if not code or level not in levels:
            raise RequestError(f'--severity wants CODE=error, warning or info, not "{pair}"')
        found[code] = levels[level]
    return found


def _words(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in texts for word in text.split(",") if word.strip())


def _toml(value: Any) -> str:
    if isinstance(value, Severity):
        return json.dumps(str(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_toml(below)}" for key, below in value.items()) + "}"
    if hasattr(value, "_asdict"):
        fields = {key.replace("_", "-"): below for key, below in value._asdict().items()}
        told = {key: below for key, below in fields.items() if below not in (None, (), {}) and key in TOLD}
        return _toml(told)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(below) for below in value) + "]"
    return json.dumps(value, ensure_ascii=False)


# Of an entry of [[paths]], and of one of [[render]].
TOLD = ("match", "preset", "preview", *LISTS, "severity", "paths", "env", "output")


def _key(key: str) -> str:
    return key if key.replace("-", "").replace("_", "").isalnum() and key.isascii() else json.dumps(key)
