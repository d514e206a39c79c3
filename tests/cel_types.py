"""The type of a Pod in CEL, as the API server declares it to check policies for status.typeChecking.

The API server declares a type for each place in the OpenAPI schema: a container and an init container have
two types. A value without a single type in the schema has none, and its field does not exist: a Quantity is
text or a number, so ``resources.limits`` is unknown. An IntOrString is dyn. Source, of Kubernetes 1.34.1:
https://github.com/kubernetes/apiserver/blob/v0.34.1/pkg/cel/common/schemas.go and
https://github.com/kubernetes/apiserver/blob/v0.34.1/pkg/admission/plugin/policy/validating/typechecking.go.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2, timestamp_pb2

from podplan.kubernetes.schemas import Schema, resolve_reference
from podplan.lint.cel import environment

PACKAGE = "kubernetes"
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _Field.TYPE_STRING,
    "boolean": _Field.TYPE_BOOL,
    "integer": _Field.TYPE_INT64,
    "number": _Field.TYPE_DOUBLE,
}
_DYN = ".google.protobuf.Value"
_TIME = ".google.protobuf.Timestamp"


def type_errors(expression: str, version: str) -> dict[int, str]:
    """Return the first message of the type checker at each column of an expression about a Pod."""
    try:
        _checker(version).compile(expression)
    except (RuntimeError, ValueError) as error:
        found = re.findall(r"ERROR: <input>:1:(\d+): (.*)", str(error))
        return {int(column): message for column, message in reversed(found)} or {0: str(error)}
    return {}


@cache
def _checker(version: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for module in (struct_pb2, timestamp_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    pool.Add(_pod_file(version))
    pod = cel.Type(f"{PACKAGE}.Pod")
    types = dict.fromkeys(environment.CEL_VARIABLES, cel.Type.DYN) | {"object": pod, "oldObject": pod}
    return environment.build_checker(types, pool)


def _pod_file(version: str) -> descriptor_pb2.FileDescriptorProto:
    """Build a file with a message for each place of a Pod that contains an object."""
    file = descriptor_pb2.FileDescriptorProto(name="kubernetes.proto", package=PACKAGE, syntax="proto3")
    file.dependency.extend(module.DESCRIPTOR.name for module in (struct_pb2, timestamp_pb2))
    _add_message(file, "Pod", resolve_reference({"$ref": "#/$defs/Pod"}, version), version)
    return file


def _add_message(file: descriptor_pb2.FileDescriptorProto, name: str, schema: Schema, version: str) -> None:
    message = descriptor_pb2.DescriptorProto(name=name)
    for field_name, part in schema.get("properties", {}).items():
        field = _field(file, message, field_name, part, version)
        if field is not None:
            field.name, field.number = field_name, len(message.field) + 1
            message.field.append(field)
    file.message_type.append(message)


def _field(
    file: descriptor_pb2.FileDescriptorProto,
    message: descriptor_pb2.DescriptorProto,
    name: str,
    schema: Schema,
    version: str,
) -> descriptor_pb2.FieldDescriptorProto | None:
    """Build the field of a message without its name and number; None for a value without a type."""
    schema = resolve_reference(schema, version)
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        return _of_message(_DYN) if "integer" in kind else None
    if schema.get("x-form") == "time":
        return _of_message(_TIME)
    if kind == "array":
        items = _field(file, message, name, schema["items"], version)
        if items is not None:
            items.label = _Field.LABEL_REPEATED
        return items
    if kind != "object":
        return _Field(type=_SCALARS[kind], label=_Field.LABEL_OPTIONAL)
    if isinstance(schema.get("additionalProperties"), dict):
        value = _field(file, message, name, schema["additionalProperties"], version)
        return None if value is None else _map_field(message, name, value)
    path = f"{message.name}_{name}"
    _add_message(file, path, schema, version)
    return _of_message(f".{PACKAGE}.{path}")


def _of_message(type_name: str) -> descriptor_pb2.FieldDescriptorProto:
    return _Field(type=_Field.TYPE_MESSAGE, type_name=type_name, label=_Field.LABEL_OPTIONAL)


def _map_field(
    message: descriptor_pb2.DescriptorProto, name: str, value: descriptor_pb2.FieldDescriptorProto
) -> descriptor_pb2.FieldDescriptorProto:
    """Build a mapping: in protobuf a list of entries, whose type name follows from the field."""
    entry = message.nested_type.add(name=name[:1].upper() + name[1:] + "Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
    value.name, value.number = "value", 2
    entry.field.append(value)
    field = _of_message(f".{PACKAGE}.{message.name}.{entry.name}")
    field.label = _Field.LABEL_REPEATED
    return field
