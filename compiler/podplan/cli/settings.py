"""The settings from flags and configuration: each with its value and its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podplan import kubernetes
from podplan.config import Config
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.typing import Any, NamedTuple

DEFAULT, CLOCK = "default", "the clock"
DEFAULTS: Mapping[str, Any] = {
    "k8s-version": kubernetes.DEFAULT_VERSION,
    "fail-on": "error",
    "inventory": "",
    "inventory-objects": (),
    "runtimes": {},
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
LIST_KEYS = ("select", "extend-select", "ignore")
# Flags that add to the configuration; any other flag replaces it.
ADDITIVE_KEYS = ("exclude", "extend-select", "gitops", "ignore", "severity")


class Setting(NamedTuple):
    """A value, and its source: a flag, a file and line, or the default."""

    value: Any
    source: str


def resolve_settings(config: Config, flags: Mapping[str, Any], clock: str = "") -> dict[str, Setting]:
    """Return every setting by its key in the configuration. ``clock`` is the default day.

    Raises UsageError: for an invalid flag.
    """
    settings_by_key = {key: _resolve_setting(key, config, flags) for key in DEFAULTS}
    if clock and not settings_by_key["today"].value:
        settings_by_key["today"] = Setting(clock, CLOCK)
    return settings_by_key


def format_settings(settings_by_key: Mapping[str, Setting]) -> str:
    """Format the settings as TOML, one per line, each with its source as a comment."""
    from podplan.config.toml_writer import format_toml

    lines = [
        (f"{key} = {format_toml(_to_plain_data(one.value))}", one.source)
        for key, one in settings_by_key.items()
    ]
    width = min(max(len(text) for text, _ in lines), 60)
    return "".join(f"{text:{width}}  # {source}\n" for text, source in lines)


def _resolve_setting(key: str, config: Config, flags: Mapping[str, Any]) -> Setting:
    name = key.replace("-", "_")
    configured = Setting(getattr(config, name), config.locations[key]) if key in config.locations else None
    flag_value = flags.get(name)
    if not flag_value:
        return configured or Setting(DEFAULTS[key], DEFAULT)
    value = _convert_flag(key, flag_value)
    if configured is None or key not in ADDITIVE_KEYS:
        return Setting(value, f"--{key}")
    combined = {**configured.value, **value} if isinstance(value, dict) else (*configured.value, *value)
    return Setting(combined, f"{configured.source} and --{key}")


def _convert_flag(key: str, flag_value: Any) -> Any:
    """Return the value of a flag, in the form of the configuration."""
    if key == "gitops":
        return {"tool": flag_value}
    if key == "exclude":
        return tuple(flag_value)
    return (
        split_words(flag_value)
        if key in LIST_KEYS
        else parse_severities(flag_value)
        if key == "severity"
        else flag_value
    )


def parse_severities(pairs: Iterable[str]) -> dict[str, Severity]:
    """Parse CODE=LEVEL pairs. Raises UsageError: for an invalid one."""
    levels = {str(level): level for level in Severity}
    severity_by_code: dict[str, Severity] = {}
    for pair in pairs:
        code, _, level = pair.partition("=")
        if not code or level not in levels:
            raise UsageError(f'--severity wants CODE=error, warning or info, not "{pair}"')
        severity_by_code[code] = levels[level]
    return severity_by_code


def split_words(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in texts for word in text.split(",") if word.strip())


# Of an entry of [[paths]], and of one of [[render]].
SHOWN_FIELDS = ("match", "preset", "preview", *LIST_KEYS, "severity", "paths", "env", "output")


def _to_plain_data(value: Any) -> Any:
    if isinstance(value, Severity):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _to_plain_data(below) for key, below in value.items()}
    if hasattr(value, "_asdict"):
        fields = {key.replace("_", "-"): below for key, below in value._asdict().items()}
        return {
            key: _to_plain_data(below)
            for key, below in fields.items()
            if below not in (None, (), {}) and key in SHOWN_FIELDS
        }
    return [_to_plain_data(below) for below in value] if isinstance(value, list | tuple) else value
