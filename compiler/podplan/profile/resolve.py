"""From the file of a profile to resolved profiles, one for each environment and matrix instance.

    extends → self → environment → --set → matrix instance → params → expressions → name

Every step gives a document in which each value traces to the line or the flag that gave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from podplan.core.findings import Problem
from podplan.core.limits import MAX_INSTANCE_NODES, MAX_INSTANCES, beyond
from podplan.core.provenance import Cursor, Doc, at, root, split, trace
from podplan.core.typing import Any, Literal, NamedTuple
from podplan.profile.expressions import Budget, Plan, Scope, fill, find, weight
from podplan.profile.merge import OPENING, Problems, kept

# The fields of a spec that are used up on the way.
STEPS = ("extends", "params", "environments", "matrix", "naming")
# What expressions see of the metadata, and of a ClusterInventory: all of its fields.
_METADATA = ("name", "namespace", "labels", "annotations")
INVENTORY_FIELDS = (
    *("hardware", "queues", "nodes", "pvcs", "secrets", "configMaps", "namespaces"),
    *("asOf", "cluster", "kubernetes", "registries"),
)


class Variant(NamedTuple):
    """A profile under one environment and one matrix instance.

    ``id`` is "", "prod", "size-large.seed-1" or "prod/size-large.seed-1". ``matrix`` are the values by axis
    and further key. ``make`` gives the document; those of a big matrix are resolved anew each time.
    """

    id: str
    environment: str
    matrix: Mapping[str, Any]
    make: Callable[[], Doc]
    inventory: Doc | None

    @property
    def doc(self) -> Doc:
        """apiVersion, kind, metadata with the name of the CR, and the spec without what this package does."""
        return self.make()


class Resolution(NamedTuple):
    """The variants that nothing was wrong with, and what was wrong with the others.

    Each problem comes with the document whose path it names, which traces to a file. ``environments`` are
    the names of those that there are, and ``failed`` of those that gave nothing, "" for as written.
    """

    variants: tuple[Variant, ...]
    problems: tuple[tuple[Doc, Problem], ...]
    environments: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def resolve(
    profile: Doc,
    *,
    load: Callable[[str, Doc], Doc | Problem],
    inventory: Doc | None,
    environments: Literal["all", "each"] | tuple[str, ...] | None,
    sets: Mapping[str, str],
) -> Resolution:
    """Every variant of ``profile`` that is asked for.

    ``load(reference, from_doc)`` gives the document of a file that ``extends`` names, or a Problem.
    ``environments`` is None for the profile as written, a tuple of names for those, "each" for every
    environment, and "all" for as written and every environment; then the profile as written may lack a param
    that some environment gives. A profile that has none is taken as written whatever is asked.
    ``sets`` are the ``--set`` flags. Nothing is raised for a profile of any form.
    """
    found: Problems = []
    if not isinstance(profile.data, dict) or not isinstance(profile.data.get("spec"), dict):
        faults = ((profile, Problem("PROF001", "a profile needs a spec, which is a map")),)
        return Resolution((), faults, failed=("",))
    merged = profile
    if "extends" in profile.data["spec"]:
        from podplan.profile.extends import extend

        merged = extend(profile, load, found)
    if found:
        return Resolution((), _once(found, profile), failed=("",))
    defined = _environments(merged)
    variants, failed = _variants(merged, defined, inventory, environments if defined else None, sets, found)
    return Resolution(tuple(variants), _once(found, profile), tuple(defined), tuple(failed))


def _environments(merged: Doc) -> list[str]:
    """The names of the environments of a profile."""
    spec = merged.data["spec"] if isinstance(merged.data, dict) else None
    if not isinstance(spec, dict) or "environments" not in spec:
        return []
    from podplan.profile.environments import names

    return names(merged)


def _variants(
    merged: Doc,
    defined: list[str],
    inventory: Doc | None,
    environments: Literal["all", "each"] | tuple[str, ...] | None,
    sets: Mapping[str, str],
    problems: Problems,
) -> tuple[list[Variant], list[str]]:
    """The variants, and the names of the environments that gave none."""
    if not isinstance(root(merged).get("spec").value, dict):
        return [], [""]
    every = environments in ("all", "each")
    asked = defined if every else list(dict.fromkeys(environments or ()))
    failed: list[str] = []
    budget = Budget()
    results: list[_Under] = []
    left = MAX_INSTANCES
    for name in asked:
        under = _under(merged, name, inventory, sets, budget, left)
        problems.extend(under.problems)
        results.append(under)
        failed += [name] if not under.variants else []
        left -= len(under.variants)
        if left <= 0 and len(results) < len(asked):
            message = beyond("instances", f"there are more than {MAX_INSTANCES} instances; use fewer")
            problems.append((merged, Problem("PROF017", message, ("spec", "environments"), on_key=True)))
            return [], asked
    variants = [variant for under in results for variant in under.variants]
    if environments is None or environments == "all":
        written = _under(merged, "", inventory, sets, budget, left)
        given_elsewhere = all(any(name not in under.missing for under in results) for name in written.missing)
        if not (written.missing and results and given_elsewhere):
            problems[:0] = written.problems
            variants = [*written.variants, *variants]
            failed += [""] if not written.variants else []
    return _distinct(variants, merged, problems), failed


class _Under(NamedTuple):
    """What became of a profile under one environment; ``missing`` are its params without a value."""

    variants: list[Variant]
    problems: Problems
    missing: tuple[str, ...] = ()


def _under(
    merged: Doc, environment: str, inventory: Doc | None, sets: Mapping[str, str], budget: Budget, left: int
) -> _Under:
    problems: Problems = []
    doc, layers = merged, list[dict[str, Cursor]]()
    if environment:
        from podplan.profile.environments import under, values

        overlaid = under(merged, environment, problems)
        if overlaid is None:
            return _Under([], problems)
        doc = overlaid
        layers.append(values(merged, environment, problems))
    if sets:
        from podplan.profile.flags import apply

        doc, given = apply(doc, sets, problems)
        layers.append(given)
    plans = _plans(doc, problems)
    if problems:
        return _Under([], problems)
    if not any(plans.values()) and not any(step in doc.data["spec"] for step in STEPS) and not any(layers):
        return _Under([Variant(environment, environment, {}, lambda: doc, inventory)], problems)
    return _instances(doc, environment, layers, plans, inventory, budget, left)


def _plans(doc: Doc, problems: Problems) -> dict[str, Plan]:
    """Where expressions are: in each field of the spec, and in the metadata under the key ""."""
    whole = root(doc)
    for path in (("metadata", "name"), ("spec", "job")):
        cursor = whole.get(*path)
        if isinstance(cursor.value, str) and OPENING in cursor.value:
            message = f"{'.'.join(path)} may not hold an expression; write it out"
            problems.append((doc, Problem("PROF010", message, cursor.path)))
    plans: dict[str, Plan] = {"": find(whole.get("metadata"), problems)}
    for key in whole.get("spec").value:
        if OPENING in key:
            problem = Problem("PROF010", "a key may not hold an expression", ("spec", key), on_key=True)
            problems.append((doc, problem))
        if key not in STEPS:
            plans[key] = find(whole.get("spec", key), problems)
    return plans


def _instances(
    doc: Doc,
    environment: str,
    layers: list[dict[str, Cursor]],
    plans: dict[str, Plan],
    inventory: Doc | None,
    budget: Budget,
    left: int,
) -> _Under:
    from podplan.profile.matrix import instances
    from podplan.profile.naming import demand_unlike
    from podplan.profile.params import choose, declared, missing

    problems: Problems = []
    params = declared(doc, problems)
    found = instances(doc, problems)
    parts = {**doc.data["spec"], "": doc.data.get("metadata")}
    heavy = sum(weight(parts[key], plan) for key, plan in plans.items()) * len(found)
    if heavy > MAX_INSTANCE_NODES or len(found) > left:
        limit = "instances" if len(found) > left else "instance-nodes"
        message = beyond(limit, f"the matrix makes {len(found)} instances, too many; use fewer values")
        problems.append((doc, Problem("PROF017", message, ("spec", "matrix"), on_key=True)))
    if problems or params is None:
        return _Under([], problems)
    known = frozenset(key for instance in found for key in instance.values)
    lacking: dict[str, None] = {}
    variants: list[Variant] = []
    named: list[tuple[Any, Any]] = []

    def resolved(instance: Any, spent: Budget, own: Problems) -> Doc | None:
        swept = {key: cursor for key, cursor in instance.values.items() if key in params}
        for key in swept:
            if layers and key in layers[-1] and layers[-1][key].doc.name == "--set":
                message = f'this has no effect: the matrix sets the param "{key}" in each instance'
                own.append((layers[-1][key].doc, Problem("PROF015", message, layers[-1][key].path)))
        values = choose(params, [*layers, swept], own)
        lacking.update(dict.fromkeys(values.missing))
        own.extend((doc, missing(name)) for name in values.missing)
        if own:
            return None
        return _resolved(
            doc, plans, _scope(environment, values.given, instance, known, inventory), instance, spent, own
        )

    def resolved_again(instance: Any) -> Doc:
        again = resolved(instance, Budget(), [])
        assert again is not None
        return again

    is_kept = budget.keeps(heavy)
    for instance in found:
        own: Problems = []
        document = resolved(instance, budget, own)
        if document is not None and not own:
            plain = {key: cursor.value for key, cursor in instance.values.items()}
            label = "/".join(part for part in (environment, instance.id) if part)
            name = root(document).get("metadata", "name")
            make = partial(_same, document) if is_kept else partial(resolved_again, instance)
            variants.append(Variant(label, environment, plain, make, inventory))
            named.append((instance, name.value))
        problems.extend(own)
    before = len(problems)
    demand_unlike(named, doc, problems)
    return _Under(variants if len(problems) == before else [], problems, tuple(lacking))


def _same(document: Doc) -> Doc:
    return document


def _scope(
    environment: str,
    params: Mapping[str, Cursor],
    instance: Any,
    known: frozenset[str],
    inventory: Doc | None,
) -> Scope:
    matrix = {key: cursor.value for key, cursor in instance.values.items()}
    values: dict[str, Any] = {
        "params": {name: cursor.value for name, cursor in params.items()},
        "matrix": {**matrix, "id": instance.label} if matrix else {},
        "environment": environment,
        "metadata": {},
    }
    places = {("params", name): cursor for name, cursor in params.items()}
    places |= {("matrix", key): cursor for key, cursor in instance.values.items()}
    if inventory is not None:
        spec = root(inventory).get("spec")
        values["inventory"] = spec.value if isinstance(spec.value, dict) else {}
        places |= {("inventory", section): cursor for section, cursor in spec.fields().items()}
    names = {"params": params, "matrix": {*known, "id"} if known else (), "metadata": _METADATA}
    return Scope(values, places, {**names, "inventory": INVENTORY_FIELDS})


def _resolved(
    doc: Doc, plans: dict[str, Plan], scope: Scope, instance: Any, budget: Budget, problems: Problems
) -> Doc:
    """The profile of one instance: expressions worked out, its name given, and the steps left out."""
    from podplan.profile.naming import name

    whole = root(doc)
    written = whole.get("metadata")
    # The metadata first, so that the rest sees what it came to.
    only_name = _with_metadata(scope, {"name": whole.get("metadata", "name").value})
    metadata = fill(written, plans[""], only_name, budget, problems)
    seen = written.value if plans[""] is None else split(metadata, doc.name).data
    scope = _with_metadata(scope, seen)
    spec = {
        key: fill(whole.get("spec", key), plans[key], scope, budget, problems)
        for key in whole.get("spec").value
        if key not in STEPS
    }
    tree: dict[str, Any] = {key: kept(whole.get(key)) for key in whole.value}
    tree["spec"] = at(whole.get("spec"), spec)
    if written.exists:
        tree["metadata"] = metadata
    own_name = name(whole, instance, lambda: split(tree["spec"], doc.name).data, scope, budget, problems)
    if own_name is not None:
        fields = (
            {key: kept(written.get(key)) for key in written.value} if plans[""] is None else metadata.value
        )
        tree["metadata"] = at(written, {**fields, "name": own_name})
    return split(at(whole, tree), doc.name)


def _with_metadata(scope: Scope, metadata: Any) -> Scope:
    there = metadata if isinstance(metadata, dict) else {}
    shown = {key: there[key] for key in _METADATA if there.get(key) is not None}
    return scope._replace(values={**scope.values, "metadata": shown})


def _distinct(variants: list[Variant], merged: Doc, problems: Problems) -> list[Variant]:
    """The variants, unless an environment is called as a matrix instance is."""
    result = {variant.id: variant for variant in reversed(variants)}
    if len(result) == len(variants):
        return variants
    message = "an environment has the name of a matrix instance; rename the environment"
    problems.append((merged, Problem("PROF013", message, ("spec", "environments"), on_key=True)))
    return []


def _once(problems: Problems, profile: Doc) -> tuple[tuple[Doc, Problem], ...]:
    """Each problem once, however many instances have it; what a flag did wrong is put at the profile."""
    result: dict[tuple[Any, ...], tuple[Doc, Problem]] = {}
    for doc, problem in problems:
        last = trace(doc, problem.path)[-1]
        source = last.doc.source
        if source is None and last.origin is not None and last.origin.flag is not None:
            message = f"{last.origin.flag.name}: {problem.message}"
            doc, problem = profile, problem._replace(message=message, path=("spec",), on_key=False)
        where = (source.file, source.index) if source is not None else ()
        result.setdefault((where, last.path, problem.rule, problem.message), (doc, problem))
    return tuple(result.values())
