"""Objects of examples: whole, or a patch on a base object that several examples share."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.findings import Path
from podplan.core.limits import MAX_DEPTH
from podplan.core.path_syntax import FieldNotFound, find_step, resolve_path, split_pointer
from podplan.core.suggestions import suggest_or_list
from podplan.core.typing import Any

BASE_KEY = "base"
# A new entry of a list is named by the first of these that the entries of the list have.
_ENTRY_NAME_KEYS = ("name", "type")


class PatchError(Exception):
    """A patch that does not fit; ``path`` leads to its part from the object that is patched."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message, self.path = message, path


class ExampleBases:
    """Base objects by name. Each is resolved when it is first needed: a base may be a patch on another."""

    def __init__(self, objects: Mapping[str, Any]) -> None:
        self._objects = objects
        self._resolved: dict[str, Any] = {}

    @property
    def names(self) -> list[str]:
        """The names of all bases."""
        return list(self._objects)

    def resolve_example(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """An example whose objects and files are whole. Raises PatchError."""
        result = dict(example)
        if "object" in example:
            result["object"] = self._resolve_at(example["object"], ("object",))
        for key in ("objects", "cluster"):
            if key in example:
                result[key] = [
                    self._resolve_at(data, (key, index)) for index, data in enumerate(example[key])
                ]
        if "files" in example:
            result["files"] = {
                name: self._resolve_at(data, ("files", name)) for name, data in example["files"].items()
            }
        return result

    def resolve_object(self, data: Mapping[str, Any]) -> Any:
        """``data`` as a whole object: with ``base: NAME``, the rest is a patch on that base.

        Raises PatchError.
        """
        if BASE_KEY not in data:
            return data
        base_object = self._resolve_base(data[BASE_KEY])
        try:
            return apply_patch(base_object, {key: data[key] for key in data if key != BASE_KEY})
        except PatchError as error:
            message = f'the patch does not fit the base "{data[BASE_KEY]}": {error.message}'
            raise PatchError(message, error.path) from None

    def _resolve_at(self, data: Mapping[str, Any], path: Path) -> Any:
        try:
            return self.resolve_object(data)
        except PatchError as error:
            raise PatchError(error.message, (*path, *error.path)) from None

    def _resolve_base(self, name: Any) -> Any:
        """The base, after those that it is a patch on: a chain of them may be longer than the stack."""
        chain: list[str] = []
        next_name = name
        while next_name not in self._resolved:
            data = self._objects.get(next_name)
            if data is None:
                message = f'there is no base "{next_name}"{suggest_or_list(str(next_name), self._objects)}'
                raise PatchError(_in_base(chain, message), (BASE_KEY,))
            if next_name in chain:
                names = " on ".join(f'"{link}"' for link in (*chain[chain.index(next_name) :], next_name))
                raise PatchError(f"bases are patches on each other in a circle: {names}", (BASE_KEY,))
            chain.append(next_name)
            next_name = data.get(BASE_KEY)
            if BASE_KEY not in data:
                break
        for index in reversed(range(len(chain))):
            try:
                self._resolved[chain[index]] = self.resolve_object(self._objects[chain[index]])
            except PatchError as error:
                raise PatchError(_in_base(chain[: index + 1], error.message), (BASE_KEY,)) from None
        return self._resolved[name]


def _in_base(chain: list[str], message: str) -> str:
    return f'the base "{chain[-1]}" cannot be used: {message}' if chain else message


def apply_patch(data: Any, patch: Any) -> Any:
    """``data`` with a JSON Merge Patch (RFC 7386): mappings merge, null deletes, anything else is replaced.

    Two things are added. A mapping patches a list by the names or the indexes of its entries, and a name that
    no entry has adds one. At the top of the patch, a key may be a JSON Pointer with such names.

    Raises PatchError where an entry or the end of a pointer is not there.
    """
    if not isinstance(patch, dict):
        return patch
    data = _merge(data, {key: value for key, value in patch.items() if not key.startswith("/")})
    for pointer in (key for key in patch if key.startswith("/")):
        try:
            data = _merge(data, _expand_pointer(data, pointer, patch[pointer]))
        except PatchError as error:
            raise PatchError(error.message, (pointer,)) from None
    return data


def _expand_pointer(data: Any, pointer: str, value: Any) -> Any:
    """The patch that has ``value`` at a pointer, and does not delete what is not there."""
    steps = split_pointer(pointer)
    if len(steps) > MAX_DEPTH:
        raise PatchError(f"the pointer has more than {MAX_DEPTH} steps")
    if value is None:
        try:
            resolve_path(data, pointer)
        except FieldNotFound as error:
            raise PatchError(str(error)) from None
    part = data
    for step in steps:
        if not isinstance(part, (dict, list)):
            raise PatchError(f'"{step}" is below a value that is neither a mapping nor a list')
        found_step: Any = find_step(part, step)
        if found_step is None:
            break
        part = part[found_step]
    for step in reversed(steps):
        value = {step: value}
    return value


def _merge(data: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    if isinstance(data, list):
        return _merge_list(data, patch)
    result = dict(data) if isinstance(data, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            try:
                result[key] = _merge(result.get(key), value)
            except PatchError as error:
                raise PatchError(error.message, (key, *error.path)) from None
    return result


def _merge_list(entries: list[Any], patch: Mapping[str, Any]) -> list[Any]:
    result = list(entries)
    deleted: set[int] = set()
    for step, value in patch.items():
        index = find_step(entries, step)
        if isinstance(index, int) and value is None:
            deleted.add(index)
        elif isinstance(index, int):
            result[index] = _merge(entries[index], value)
        else:
            result.append(_build_entry(entries, step, value))
    return [entry for index, entry in enumerate(result) if index not in deleted]


def _build_entry(entries: list[Any], name: str, value: Any) -> Any:
    first_entry = entries[0] if entries and isinstance(entries[0], dict) else {}
    key = next((key for key in _ENTRY_NAME_KEYS if key in first_entry), None)
    if key is None or name.isdecimal() or not isinstance(value, dict):
        raise PatchError(f'"{name}" is not in a list of {len(entries)}')
    return {key: name, **_merge({}, value)}
