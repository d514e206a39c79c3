"""Builds schemas/kubernetes/definitions.tsv from the wheels of kubernetes-validate.

pip download --no-deps -d DIR kubernetes-validate==1.28.0
    pip download --no-deps -d DIR kubernetes-validate==1.37.0
    python tools/kubernetes_schemas.py DIR/*.whl

The wheels contain the OpenAPI definitions of Kubernetes 1.20 to 1.37 as JSON Schema. The tool keeps what
Pods, Services, ConfigMaps and Secrets need, drops descriptions, closes every object, and adds the rules of
schemas/kubernetes/constraints.yaml. A line of the result is a definition that one or more versions share: its
name, the minor versions that have it, its schema. If two wheels contain the same version, the last one named
wins. Equal input gives equal bytes. The tool is outside of ``compiler/`` because it is not shipped and
nothing imports it.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "compiler"))

from podplan.kubernetes.names import NAME_FORMS, NameForm  # noqa: E402

TARGET_FOLDER = ROOT / "schemas" / "kubernetes"
VERSIONS = [f"1.{minor}" for minor in range(24, 38)]
KINDS = ("Pod", "Service", "ConfigMap", "Secret")
ROOT_DEFINITIONS = (
    *KINDS,
    "PodTemplateSpec",
    "ObjectMeta",
    "ListMeta",
    "EnvVar",
    "ResourceRequirements",
    "ServicePort",
)
DEFINITION_PREFIXES = ("io.k8s.api.core.v1.", "io.k8s.apimachinery.pkg.")
KEPT_KEYWORDS = ("type", "properties", "required", "items", "additionalProperties", "enum", "format")
FORMAT_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}

Schema = dict[str, Any]


def main(wheels: list[str]) -> None:
    rules = yaml.safe_load((TARGET_FOLDER / "constraints.yaml").read_text("utf-8"))
    published = {version: found for wheel in wheels for version, found in read_wheel(wheel)}
    missing = [version for version in VERSIONS if version not in published]
    if missing:
        raise SystemExit(f"no wheel holds {', '.join(missing)}")
    minors_by_definition: dict[tuple[str, str], list[int]] = {}
    for version in VERSIONS:
        for name, schema in build_definitions(published[version], rules, version).items():
            text = json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            minors_by_definition.setdefault((name, text), []).append(parse_minor(version))
    rows = sorted((name, minors, text) for (name, text), minors in minors_by_definition.items())
    lines = [f"{name}\t{format_ranges(minors)}\t{text}\n" for name, minors, text in rows]
    (TARGET_FOLDER / "definitions.tsv").write_text("".join(lines), "utf-8", newline="\n")
    for name, field in find_unused_rules(rules, minors_by_definition):
        raise SystemExit(f"constraints.yaml has a rule for {name}.{field}, which no version has")
    print(f"{len(lines)} definitions, {sum(len(line.encode()) for line in lines)} bytes")


def find_unused_rules(
    rules: Any, minors_by_definition: dict[tuple[str, str], list[int]]
) -> Iterator[tuple[str, str]]:
    """Yield the definitions and fields that have a rule, but exist in no version."""
    fields_by_name: dict[str, set[str]] = {}
    for name, text in minors_by_definition:
        fields_by_name.setdefault(name, set()).update(json.loads(text).get("properties", {}))
    parts = [rules["required"], rules["fields"], *rules["before"].values(), *rules["since"].values()]
    for part in parts:
        for name, fields in part.items():
            yield from ((name, field) for field in fields if field not in fields_by_name.get(name, ()))


def format_ranges(minors: list[int]) -> str:
    """Format increasing numbers as ranges: [24, 25, 26, 30] is "24-26,30-30"."""
    runs: list[list[int]] = []
    for number in minors:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}-{last}" for first, last in runs)


def read_wheel(wheel: str) -> Iterator[tuple[str, dict[str, Schema]]]:
    """Yield the versions in a wheel with their definitions, under their full names."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            match = re.search(r"/v(1\.\d+)\.\d+-local-strict/_definitions\.json$", name)
            if match:
                document = json.loads(archive.read(name))
                yield match[1], document.get("$defs") or document["definitions"]


def build_definitions(published: dict[str, Schema], rules: Any, version: str) -> dict[str, Schema]:
    """Build the definitions that the roots need, under short names, pruned and with the additional rules."""
    full_name_by_name = {
        full.rsplit(".", 1)[1]: full for full in sorted(published) if full.startswith(DEFINITION_PREFIXES)
    }
    pruned: dict[str, Schema] = {}
    pending = list(ROOT_DEFINITIONS)
    while pending:
        name = pending.pop()
        if name not in pruned:
            pruned[name] = build_special_schema(name) or prune_schema(published[full_name_by_name[name]])
            pending += iter_references(pruned[name])
    for name in KINDS:
        pruned[name]["properties"]["apiVersion"] = {"enum": ["v1"]}
        pruned[name]["properties"]["kind"] = {"enum": [name]}
    set_required(pruned, rules["required"])
    for name, fields in rules["fields"].items():
        constrain_fields(pruned, name, fields)
    for limit, changed_fields in rules["before"].items():
        if parse_minor(version) < parse_minor(limit):
            for name, fields in changed_fields.items():
                constrain_fields(pruned, name, fields)
    for limit, changed_fields in rules["since"].items():
        if parse_minor(version) >= parse_minor(limit):
            for name, fields in changed_fields.items():
                constrain_fields(pruned, name, fields)
    return pruned


def parse_minor(version: str) -> int:
    return int(version.split(".")[1])


def build_special_schema(name: str) -> Schema | None:
    """Return the schemas of definitions whose JSON form OpenAPI describes too loosely."""
    if name == "Quantity":
        return {"type": ["string", "number"], **build_form_schema(NAME_FORMS["quantity"], "quantity")}
    if name == "IntOrString":
        low, high = FORMAT_RANGES["int32"]
        return {"type": ["string", "integer"], "minimum": low, "maximum": high}
    if name in ("Time", "MicroTime"):
        return {"type": "string", **build_form_schema(NAME_FORMS["time"], "time")}
    if name == "FieldsV1":
        return {"type": "object"}
    return None


def prune_schema(schema: Schema) -> Schema:
    """Return a schema without descriptions and nulls, with short references and the ranges of its formats."""
    if "$ref" in schema:
        return {"$ref": "#/$defs/" + schema["$ref"].rsplit(".", 1)[1]}
    pruned = {key: schema[key] for key in KEPT_KEYWORDS if key in schema}
    if isinstance(pruned.get("type"), list):
        (pruned["type"],) = (name for name in pruned["type"] if name != "null")
    if "properties" in pruned:
        pruned["properties"] = {name: prune_schema(field) for name, field in pruned["properties"].items()}
    if isinstance(pruned.get("additionalProperties"), dict):
        pruned["additionalProperties"] = prune_schema(pruned["additionalProperties"])
    if "items" in pruned:
        pruned["items"] = prune_schema(pruned["items"])
    format_name = pruned.pop("format", None)
    if format_name in FORMAT_RANGES:
        pruned["minimum"], pruned["maximum"] = FORMAT_RANGES[format_name]
    return pruned


def iter_references(schema: Any) -> Iterator[str]:
    """Yield the short names that a schema refers to."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rsplit("/", 1)[1]
        for value in schema.values():
            yield from iter_references(value)


def set_required(pruned: dict[str, Schema], required: dict[str, list[str]]) -> None:
    """Set the required fields of each definition; those that only a status contains require nothing."""
    checked: set[str] = set()
    pending = list(ROOT_DEFINITIONS)
    while pending:
        name = pending.pop()
        if name not in checked:
            checked.add(name)
            fields = pruned[name].get("properties", {})
            pending += iter_references({key: field for key, field in fields.items() if key != "status"})
            pending += iter_references(pruned[name].get("items", {}))
    for name, schema in pruned.items():
        required_fields = required.get(name, schema.get("required", [])) if name in checked else []
        schema.pop("required", None)
        if required_fields:
            schema["required"] = required_fields


def constrain_fields(pruned: dict[str, Schema], name: str, fields: dict[str, Any]) -> None:
    """Add the rules for the fields of one definition, as far as this version has them."""
    for field, rule in fields.items():
        if name in pruned and field in pruned[name]["properties"]:
            properties = pruned[name]["properties"]
            properties[field] = apply_rule(properties[field], rule)


def apply_rule(schema: Schema, rule: Any) -> Schema:
    """Return ``schema`` with a rule in the notation of constraints.yaml."""
    if isinstance(rule, list):
        return {**schema, "enum": rule}
    if isinstance(rule, dict):
        changed = dict(schema)
        for part, inner in rule.items():
            if part == "items":
                changed["items"] = apply_rule(schema["items"], inner)
            elif part == "values":
                changed["additionalProperties"] = apply_rule(schema["additionalProperties"], inner)
            else:
                changed["propertyNames"] = apply_rule({"type": "string"}, inner)
        return changed
    if rule == "nonempty":
        return {**schema, ("minItems" if schema["type"] == "array" else "minLength"): 1}
    if rule.startswith("at most "):
        return {**schema, "maxItems": int(rule.removeprefix("at most "))}
    if ".." in rule:
        low, high = rule.split("..")
        limits = {"minimum": low, "maximum": high}
        return {**schema, **{key: int(end) for key, end in limits.items() if end}}
    name = rule.removesuffix("?")
    plain = {key: value for key, value in schema.items() if key not in ("pattern", "allOf")}
    return {**plain, **build_form_schema(NAME_FORMS[name], name, empty=rule.endswith("?"))}


def build_form_schema(form_rule: NameForm, name: str, *, empty: bool = False) -> Schema:
    """Return the keywords of a form; ``x-form`` names it for messages, ``x-empty`` allows ""."""
    patterns = [f"^$|{pattern}" if empty else pattern for pattern in form_rule.patterns]
    schema: Schema = {"x-form": name, "pattern": patterns[0]}
    if len(patterns) > 1:
        schema["allOf"] = [{"pattern": pattern} for pattern in patterns[1:]]
    if form_rule.max_length < 1_000_000:
        schema["maxLength"] = form_rule.max_length
    if empty:
        schema["x-empty"] = True
    return schema


if __name__ == "__main__":
    main(sys.argv[1:])
