"""Build schemas/kubernetes/definitions.tsv from the wheels of kubernetes-validate.

    pip download --no-deps -d DIR kubernetes-validate==1.28.0
    pip download --no-deps -d DIR kubernetes-validate==1.37.0
    python tools/kubernetes_schemas.py DIR/*.whl

The wheels hold the OpenAPI definitions of Kubernetes 1.20 to 1.37 as JSON Schema. The tool keeps what
Pods, Services, ConfigMaps and Secrets need, drops descriptions, closes every object, and adds the rules
of schemas/kubernetes/constraints.yaml. A line of the result is a definition that one or more versions
share: its name, the minor versions that have it, its schema. Where two wheels hold a version, the last
one named wins. Equal input gives equal bytes. The tool stands outside ``compiler/`` since it never ships
and nothing imports it.
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

from podplan.kubernetes.names import FORMS, Form  # noqa: E402

TARGET = ROOT / "schemas" / "kubernetes"
VERSIONS = [f"1.{minor}" for minor in range(24, 38)]
KINDS = ("Pod", "Service", "ConfigMap", "Secret")
ROOTS = (*KINDS, "PodTemplateSpec", "ObjectMeta", "ListMeta", "EnvVar", "ResourceRequirements", "ServicePort")
PREFIXES = ("io.k8s.api.core.v1.", "io.k8s.apimachinery.pkg.")
KEPT = ("type", "properties", "required", "items", "additionalProperties", "enum", "format")
RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}

Schema = dict[str, Any]


def main(wheels: list[str]) -> None:
    rules = yaml.safe_load((TARGET / "constraints.yaml").read_text("utf-8"))
    published = {version: found for wheel in wheels for version, found in read_wheel(wheel)}
    missing = [version for version in VERSIONS if version not in published]
    if missing:
        raise SystemExit(f"no wheel holds {', '.join(missing)}")
    held: dict[tuple[str, str], list[int]] = {}
    for version in VERSIONS:
        for name, schema in definitions(published[version], rules, version).items():
            text = json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            held.setdefault((name, text), []).append(minor(version))
    rows = sorted((name, minors, text) for (name, text), minors in held.items())
    lines = [f"{name}\t{spans(minors)}\t{text}\n" for name, minors, text in rows]
    (TARGET / "definitions.tsv").write_text("".join(lines), "utf-8", newline="\n")
    for name, field in unused(rules, held):
        raise SystemExit(f"constraints.yaml has a rule for {name}.{field}, which no version has")
    print(f"{len(lines)} definitions, {sum(len(line.encode()) for line in lines)} bytes")


def unused(rules: Any, held: dict[tuple[str, str], list[int]]) -> Iterator[tuple[str, str]]:
    """The definitions and fields that have a rule and that no version has."""
    known: dict[str, set[str]] = {}
    for name, text in held:
        known.setdefault(name, set()).update(json.loads(text).get("properties", {}))
    parts = [rules["required"], rules["fields"], *rules["before"].values(), *rules["since"].values()]
    for part in parts:
        for name, fields in part.items():
            yield from ((name, field) for field in fields if field not in known.get(name, ()))


def spans(minors: list[int]) -> str:
    """Rising numbers as ranges: [24, 25, 26, 30] is "24-26,30-30"."""
    runs: list[list[int]] = []
    for number in minors:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}-{last}" for first, last in runs)


def read_wheel(wheel: str) -> Iterator[tuple[str, dict[str, Schema]]]:
    """The versions in a wheel with their definitions, under their full names."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            found = re.search(r"/v(1\.\d+)\.\d+-local-strict/_definitions\.json$", name)
            if found:
                document = json.loads(archive.read(name))
                yield found[1], document.get("$defs") or document["definitions"]


def definitions(published: dict[str, Schema], rules: Any, version: str) -> dict[str, Schema]:
    """The definitions that the roots need, under short names, pruned and with our rules."""
    known = {full.rsplit(".", 1)[1]: full for full in sorted(published) if full.startswith(PREFIXES)}
    pruned: dict[str, Schema] = {}
    todo = list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in pruned:
            pruned[name] = special(name) or prune(published[known[name]])
            todo += references(pruned[name])
    for name in KINDS:
        pruned[name]["properties"]["apiVersion"] = {"enum": ["v1"]}
        pruned[name]["properties"]["kind"] = {"enum": [name]}
    demand(pruned, rules["required"])
    for name, fields in rules["fields"].items():
        constrain(pruned, name, fields)
    for limit, changed in rules["before"].items():
        if minor(version) < minor(limit):
            for name, fields in changed.items():
                constrain(pruned, name, fields)
    for limit, changed in rules["since"].items():
        if minor(version) >= minor(limit):
            for name, fields in changed.items():
                constrain(pruned, name, fields)
    return pruned


def minor(version: str) -> int:
    return int(version.split(".")[1])


def special(name: str) -> Schema | None:
    """The definitions whose JSON form the OpenAPI describes too widely."""
    if name == "Quantity":
        return {"type": ["string", "number"], **form(FORMS["quantity"], "quantity")}
    if name == "IntOrString":
        low, high = RANGES["int32"]
        return {"type": ["string", "integer"], "minimum": low, "maximum": high}
    if name in ("Time", "MicroTime"):
        return {"type": "string", **form(FORMS["time"], "time")}
    if name == "FieldsV1":
        return {"type": "object"}
    return None


def prune(schema: Schema) -> Schema:
    """A schema without descriptions and nulls, with short references and the ranges of its formats."""
    if "$ref" in schema:
        return {"$ref": "#/$defs/" + schema["$ref"].rsplit(".", 1)[1]}
    kept = {key: schema[key] for key in KEPT if key in schema}
    if isinstance(kept.get("type"), list):
        (kept["type"],) = (name for name in kept["type"] if name != "null")
    if "properties" in kept:
        kept["properties"] = {name: prune(field) for name, field in kept["properties"].items()}
    if isinstance(kept.get("additionalProperties"), dict):
        kept["additionalProperties"] = prune(kept["additionalProperties"])
    if "items" in kept:
        kept["items"] = prune(kept["items"])
    style = kept.pop("format", None)
    if style in RANGES:
        kept["minimum"], kept["maximum"] = RANGES[style]
    return kept


def references(schema: Any) -> Iterator[str]:
    """The short names that a schema refers to."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rsplit("/", 1)[1]
        for value in schema.values():
            yield from references(value)


def demand(pruned: dict[str, Schema], required: dict[str, list[str]]) -> None:
    """Set what each definition requires; what only a status holds requires nothing."""
    checked: set[str] = set()
    todo = list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in checked:
            checked.add(name)
            fields = pruned[name].get("properties", {})
            todo += references({key: field for key, field in fields.items() if key != "status"})
            todo += references(pruned[name].get("items", {}))
    for name, schema in pruned.items():
        wanted = required.get(name, schema.get("required", [])) if name in checked else []
        schema.pop("required", None)
        if wanted:
            schema["required"] = wanted


def constrain(pruned: dict[str, Schema], name: str, fields: dict[str, Any]) -> None:
    """Add the rules for the fields of one definition, as far as this version has it."""
    for field, rule in fields.items():
        if name in pruned and field in pruned[name]["properties"]:
            properties = pruned[name]["properties"]
            properties[field] = apply(properties[field], rule)


def apply(schema: Schema, rule: Any) -> Schema:
    """``schema`` with a rule in the notation of constraints.yaml."""
    if isinstance(rule, list):
        return {**schema, "enum": rule}
    if isinstance(rule, dict):
        changed = dict(schema)
        for part, inner in rule.items():
            if part == "items":
                changed["items"] = apply(schema["items"], inner)
            elif part == "values":
                changed["additionalProperties"] = apply(schema["additionalProperties"], inner)
            else:
                changed["propertyNames"] = apply({"type": "string"}, inner)
        return changed
    if rule == "nonempty":
        return {**schema, ("minItems" if schema["type"] == "array" else "minLength"): 1}
    if rule.startswith("at most "):
        return {**schema, "maxItems": int(rule.removeprefix("at most "))}
    if ".." in rule:
        low, high = rule.split("..")
        ends = {"minimum": low, "maximum": high}
        return {**schema, **{key: int(end) for key, end in ends.items() if end}}
    name = rule.removesuffix("?")
    plain = {key: value for key, value in schema.items() if key not in ("pattern", "allOf")}
    return {**plain, **form(FORMS[name], name, empty=rule.endswith("?"))}


def form(wanted: Form, name: str, *, empty: bool = False) -> Schema:
    """The keywords that say a form; ``x-form`` names it for messages, ``x-empty`` allows ""."""
    patterns = [f"^$|{pattern}" if empty else pattern for pattern in wanted.patterns]
    schema: Schema = {"x-form": name, "pattern": patterns[0]}
    if len(patterns) > 1:
        schema["allOf"] = [{"pattern": pattern} for pattern in patterns[1:]]
    if wanted.longest < 1_000_000:
        schema["maxLength"] = wanted.longest
    if empty:
        schema["x-empty"] = True
    return schema


if __name__ == "__main__":
    main(sys.argv[1:])
