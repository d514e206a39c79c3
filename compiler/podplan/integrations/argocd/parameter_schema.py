"""The parameters that an Application may set, as Argo CD's form for it shows them.

Argo CD knows strings, lists and maps; ``itemType`` says what a string stands for. What is announced as a
default is shown and never handed over (docs/evidence/gitops-argocd.md#parameter-announcements): without a
value, that of the profile holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from podplan.core.typing import Any
from podplan.integrations.argocd.application import Profile
from podplan.integrations.argocd.parameters import OF_PARAMS, TREATMENTS
from podplan.kubernetes.accessors import mapping
from podplan.redaction.redactor import redact_data

Announcement = dict[str, Any]
_ITEM_TYPES = {"integer": "number", "number": "number", "boolean": "boolean"}
_MOST_LISTED = 20


def announced(profiles: Sequence[Profile]) -> list[Announcement]:
    """What there is to set for these profiles: how to render them, and their params."""
    return [*_general(profiles), *_of_params(profiles)]


def _general(profiles: Sequence[Profile]) -> list[Announcement]:
    environments = dict.fromkeys(name for one in profiles for name in one.environments)
    names = ", ".join(sorted({one.name for one in profiles})[:_MOST_LISTED])
    listed = ", ".join([*list(environments)[:_MOST_LISTED], "all"])
    return [
        {
            "name": "environment",
            "title": "Environment",
            "tooltip": f"one of {listed}" if environments else "the profiles here have no environments",
            "required": bool(environments),
            "string": "",
        },
        {
            "name": "profiles",
            "title": "Profiles",
            "tooltip": f"names or files; all where none is named: {names}",
            "collectionType": "array",
            "array": [],
        },
        {
            "name": "inventory",
            "title": "ClusterInventory",
            "tooltip": "a file, from this folder, or with a leading / from the top of the repository",
            "string": "",
        },
        {
            "name": "manifests",
            "title": "Manifests beside the profiles",
            "tooltip": f"{' or '.join(TREATMENTS)}; needed where there are some",
            "string": "",
        },
    ]


def _of_params(profiles: Iterable[Profile]) -> list[Announcement]:
    """The params of all profiles by name; of one that several declare, as the first of them does."""
    declared: dict[str, list[tuple[Profile, dict[str, Any]]]] = {}
    for one in profiles:
        for name, fragment in one.params.items():
            declared.setdefault(name, []).append((one, fragment if isinstance(fragment, dict) else {}))
    return [_of_param(name, those) for name, those in sorted(declared.items())]


def _of_param(name: str, declaring: Sequence[tuple[Profile, dict[str, Any]]]) -> Announcement:
    profile, fragment = declaring[0]
    fragment = _without_secrets(profile, name, fragment)
    names = ", ".join(dict.fromkeys(one.name for one, _ in declaring))
    title = fragment.get("title")
    announcement: Announcement = {
        "name": OF_PARAMS + name,
        "title": title if isinstance(title, str) else name,
        "tooltip": "; ".join(filter(None, [_described(fragment), f"of {names}"])),
        "required": any(_is_required(one, below) for one, below in declaring),
    }
    return {**announcement, **_form(fragment)}


def _without_secrets(profile: Profile, name: str, fragment: dict[str, Any]) -> dict[str, Any]:
    """The declaration of a param without a default that is secret: what a form shows, somebody may send."""
    whole = {"spec": {**mapping(profile.item.doc.data, "spec"), "params": {name: fragment}}}
    shown: dict[str, Any] = redact_data(whole)["spec"]["params"][name]
    is_secret = shown.get("default") != fragment.get("default")
    return {key: value for key, value in shown.items() if not (is_secret and key == "default")}


def _is_required(profile: Profile, fragment: dict[str, Any]) -> bool:
    """Whether nothing but the parameter may give the value; environments may do so, too."""
    return "default" not in fragment and not profile.environments


def _form(fragment: dict[str, Any]) -> Announcement:
    declared, default = fragment.get("type"), fragment.get("default")
    if declared == "array":
        values = default if isinstance(default, list) else []
        return {"collectionType": "array", "array": [_text(value) for value in values]}
    if declared == "object":
        entries = default.items() if isinstance(default, dict) else ()
        return {"collectionType": "map", "map": {str(key): _text(value) for key, value in entries}}
    item_type = _ITEM_TYPES.get(declared) if isinstance(declared, str) else None
    typed = {"itemType": item_type} if item_type else {}
    return {**typed, "string": "" if default is None else _text(default)}


def _described(fragment: dict[str, Any]) -> str:
    """What a value must be, in a few words: Argo CD's form has no choices and no bounds of its own."""
    said = [fragment["description"]] if isinstance(fragment.get("description"), str) else []
    choices = fragment.get("enum")
    if isinstance(choices, list):
        said.append("one of " + ", ".join(_text(choice) for choice in choices[:_MOST_LISTED]))
    elif isinstance(fragment.get("type"), str):
        said.append(fragment["type"])
    for keyword, words in (("minimum", "at least"), ("maximum", "at most"), ("pattern", "like")):
        if isinstance(fragment.get(keyword), int | float | str):
            said.append(f"{words} {_text(fragment[keyword])}")
    return ", ".join(said)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
