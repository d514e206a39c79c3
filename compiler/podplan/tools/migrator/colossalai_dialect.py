"""A ColossalAIJob with launcher and worker as one with torchConfig and replicaSpecs, on the tree of its text.

What each field is called in the other dialect:
docs/evidence/t9k-colossalaijob.md#fields-of-the-replica-dialect.
"""

from __future__ import annotations

import re

from podplan.core.typing import Any
from podplan.tools.formatter.rewriting import field, position, word
from podplan.yaml.edits.changes import Refused, written
from podplan.yaml.tree import Leaf, Tree

CONFIG = {"procPerWorker": "procPerWorker", "command": "script", "torchArgs": "extraArgs"}
LAUNCHER = ("image", "workingDir", "env", "resources")
WORKER = (*CONFIG, "replicas", "template")
_FIELD = re.compile(r"#+ *[A-Za-z]\w*:(?: |$)")
OLD, NEW = ("launcher", "worker"), ("torchConfig", "replicaSpecs")


def is_old(cr: Any) -> bool:
    """Whether a CR is a ColossalAIJob in the launcher dialect."""
    spec = cr.get("spec") if isinstance(cr, dict) and cr.get("kind") == "ColossalAIJob" else None
    return isinstance(spec, dict) and any(spec.get(name) is not None for name in OLD)


def in_new_dialect(spec: Tree, data: dict[str, Any]) -> Tree:
    """The map of ``spec``, whose data is ``data``, in the new dialect. Raises Refused."""
    mixed = [name for name in NEW if data.get(name) is not None]
    if mixed:
        raise Refused(f"it has {mixed[0]} of the other dialect beside what it would become")
    parts = {name: _map(spec, name) for name in OLD if data.get(name) is not None}
    for name, allowed in (("launcher", LAUNCHER), ("worker", WORKER)):
        for leaf in parts[name].value.entries if name in parts else ():
            if _name(leaf) not in allowed:
                raise Refused(f"{name}.{_name(leaf)} has no place in the other dialect")
    specs = [
        *([_launcher(parts["launcher"], data)] if "launcher" in parts else []),
        *([_worker(parts["worker"])] if "worker" in parts else []),
    ]
    config = [
        leaf._replace(key=word(CONFIG[_name(leaf)]))
        for leaf in (parts["worker"].value.entries if "worker" in parts else ())
        if _name(leaf) in CONFIG
    ]
    new = [
        *([field("torchConfig", Tree("map", -1, -1, entries=tuple(config)))] if config else []),
        field("replicaSpecs", Tree("list", -1, -1, entries=tuple(specs))),
    ]
    first = min(position(spec, name) for name in parts)
    entries: list[Leaf] = []
    for index, leaf in enumerate(spec.entries):
        entries += new if index == first else []
        entries += [] if _name(leaf) in OLD else [leaf]
    above = spec.entries[first].above
    stays = above if _is_commented_out(above) else ("",) if "" in above and first else ()
    entries[first] = entries[first]._replace(above=stays)
    return spec._replace(entries=tuple(entries))


def _is_commented_out(lines: tuple[str, ...]) -> bool:
    """Whether a comment is YAML that counted once, so that it is not about what stands below."""
    return any(_FIELD.match(line) for line in lines)


def _map(spec: Tree, name: str) -> Leaf:
    leaf = spec.entries[position(spec, name)]
    if leaf.value.what != "map" or leaf.value.prefix:
        raise Refused(
            f"{name} is no mapping of its own" if leaf.value.what != "map" else f"{name} has an anchor"
        )
    return leaf


def _launcher(leaf: Leaf, data: dict[str, Any]) -> Leaf:
    fields = [field("name", word("launcher"))]
    names = [_name(below) for below in leaf.value.entries]
    image = _workers_image(data)
    if "image" not in names and image:
        fields.append(field("image", word(written(image))))
    container = Tree("map", -1, -1, entries=(*fields, *leaf.value.entries), closing=leaf.value.closing)
    containers = Tree("list", -1, -1, entries=(Leaf(None, container, -1),))
    template = _nested("spec", _nested("containers", containers))
    return _entry(leaf, [field("replicas", word("1")), field("template", template)], ())


def _worker(leaf: Leaf) -> Leaf:
    kept = [below for below in leaf.value.entries if _name(below) not in CONFIG]
    return _entry(leaf, kept, leaf.value.closing)


def _entry(leaf: Leaf, fields: list[Leaf], closing: tuple[str, ...]) -> Leaf:
    """An entry of replicaSpecs for what was a field of the spec, with the comments of that."""
    above = () if _is_commented_out(leaf.above) else leaf.above
    about = tuple(line for line in (*above, leaf.beside, *leaf.value.opening) if line)
    type_ = field("type", word(_name(leaf)))
    return Leaf(None, Tree("map", -1, -1, entries=(type_, *fields), closing=closing), -1, above=about)


def _nested(name: str, value: Tree) -> Tree:
    return Tree("map", -1, -1, entries=(field(name, value),))


def _name(leaf: Leaf) -> str:
    return leaf.key.value if leaf.key is not None else ""


def _workers_image(data: dict[str, Any]) -> str:
    """The image that a launcher without one takes: that of the container of the workers that trains."""
    template = _mapping(_mapping(data.get("worker")).get("template"))
    listed = _mapping(template.get("spec")).get("containers")
    containers = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    trains = next((one for one in containers if one.get("name") == "worker"), next(iter(containers), {}))
    image = trains.get("image")
    return image if isinstance(image, str) else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
