"""Resolves a profile, once for each environment and matrix instance.

extends → self → environment → --set → matrix instance → params → expressions → name

Every step returns a document in which each value traces to the line or the flag that set it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from podplan.core.findings import Diagnostic
from podplan.core.limits import MAX_INSTANCE_NODES, MAX_INSTANCES, limit_exceeded
from podplan.core.provenance import (
    Cursor,
    TracedDocument,
    attribute_to,
    build_traced_document,
    root_cursor,
    trace_to_source,
)
from podplan.core.typing import Any, Literal, NamedTuple
from podplan.profile.expressions import (
    ExpressionBudget,
    ExpressionScope,
    ExpressionTree,
    count_built_values,
    evaluate_tree,
    find_expressions,
)
from podplan.profile.merge import OPENING, preserve_null

# The fields of a spec that these steps consume.
RESOLUTION_FIELDS = ("extends", "params", "environments", "matrix", "naming")
# The metadata that expressions can read; of a ClusterInventory they can read all fields.
_EXPRESSION_METADATA = ("name", "namespace", "labels", "annotations")
INVENTORY_FIELDS = (
    *("hardware", "queues", "nodes", "pvcs", "secrets", "configMaps", "namespaces"),
    *("asOf", "cluster", "kubernetes", "registries"),
)


class Variant(NamedTuple):
    """A profile under one environment and one matrix instance.

    ``id`` is "", "prod", "size-large.seed-1" or "prod/size-large.seed-1". ``matrix`` are the values by axis
    and further key. ``make`` builds the document; in a big matrix documents are not cached.
    """

    id: str
    environment: str
    matrix: Mapping[str, Any]
    make: Callable[[], TracedDocument]
    inventory: TracedDocument | None

    @property
    def doc(self) -> TracedDocument:
        """apiVersion, kind, metadata with the name of the CR, and the spec without the fields consumed
        here."""
        return self.make()


class Resolution(NamedTuple):
    """The valid variants, and the diagnostics of the others.

    Each diagnostic comes with the document of its path, which traces to a file. ``environments`` are the
    names of all environments, and ``failed`` of those without a variant, "" for the profile as written.
    """

    variants: tuple[Variant, ...]
    diagnostics: tuple[Diagnostic, ...]
    environments: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def resolve_profile(
    profile: TracedDocument,
    *,
    load_base: Callable[[str, TracedDocument], TracedDocument | Diagnostic],
    inventory: TracedDocument | None,
    environments: Literal["all", "each"] | tuple[str, ...] | None,
    sets: Mapping[str, str],
) -> Resolution:
    """Resolve the requested variants of ``profile``.

    ``load_base(reference, from_doc)`` returns the document of a file that ``extends`` names, or a Diagnostic.
    ``environments`` is None for the profile as written, a tuple of names for those, "each" for every
    environment, and "all" for as written and every environment; then the profile as written may lack a param
    that some environment sets. A profile without environments is always resolved as written. ``sets`` are the
    ``--set`` flags. Invalid profiles are reported; no exception is raised.
    """
    diagnostics: list[Diagnostic] = []
    if not isinstance(profile.data, dict) or not isinstance(profile.data.get("spec"), dict):
        return Resolution((), (), failed=("",))  # the schema of profiles reports it
    merged = profile
    if "extends" in profile.data["spec"]:
        from podplan.profile.extends import merge_bases

        merged = merge_bases(profile, load_base, diagnostics)
    if diagnostics:
        return Resolution((), _deduplicate(diagnostics, profile), failed=("",))
    environment_names = _list_environments(merged)
    variants, failed = _resolve_variants(
        merged, environment_names, inventory, environments if environment_names else None, sets, diagnostics
    )
    return Resolution(
        tuple(variants), _deduplicate(diagnostics, profile), tuple(environment_names), tuple(failed)
    )


def _list_environments(merged: TracedDocument) -> list[str]:
    """Return the names of the environments of a profile."""
    spec = merged.data["spec"] if isinstance(merged.data, dict) else None
    if not isinstance(spec, dict) or "environments" not in spec:
        return []
    from podplan.profile.environments import list_environments

    return list_environments(merged)


def _resolve_variants(
    merged: TracedDocument,
    environment_names: list[str],
    inventory: TracedDocument | None,
    environments: Literal["all", "each"] | tuple[str, ...] | None,
    sets: Mapping[str, str],
    diagnostics: list[Diagnostic],
) -> tuple[list[Variant], list[str]]:
    """Return the variants, and the names of the environments without one."""
    if not isinstance(root_cursor(merged).get("spec").value, dict):
        return [], [""]
    is_every = environments in ("all", "each")
    requested = environment_names if is_every else list(dict.fromkeys(environments or ()))
    failed: list[str] = []
    budget = ExpressionBudget()
    results: list[_EnvironmentResult] = []
    remaining = MAX_INSTANCES
    for name in requested:
        result = _resolve_environment(merged, name, inventory, sets, budget, remaining)
        diagnostics.extend(result.diagnostics)
        results.append(result)
        failed += [name] if not result.variants else []
        remaining -= len(result.variants)
        if remaining <= 0 and len(results) < len(requested):
            message = limit_exceeded("instances", f"there are more than {MAX_INSTANCES} instances; use fewer")
            diagnostics.append(
                Diagnostic("PROF017", message, ("spec", "environments"), on_key=True, doc=merged)
            )
            return [], requested
    variants = [variant for under in results for variant in under.variants]
    if environments is None or environments == "all":
        as_written = _resolve_environment(merged, "", inventory, sets, budget, remaining)
        given_elsewhere = all(
            any(name not in under.missing for under in results) for name in as_written.missing
        )
        if not (as_written.missing and results and given_elsewhere):
            diagnostics[:0] = as_written.diagnostics
            variants = [*as_written.variants, *variants]
            failed += [""] if not as_written.variants else []
    return _require_distinct_ids(variants, merged, diagnostics), failed


class _EnvironmentResult(NamedTuple):
    """The variants of a profile under one environment; ``missing`` are its params without a value."""

    variants: list[Variant]
    diagnostics: list[Diagnostic]
    missing: tuple[str, ...] = ()


def _resolve_environment(
    merged: TracedDocument,
    environment: str,
    inventory: TracedDocument | None,
    sets: Mapping[str, str],
    budget: ExpressionBudget,
    remaining: int,
) -> _EnvironmentResult:
    diagnostics: list[Diagnostic] = []
    doc, layers = merged, list[dict[str, Cursor]]()
    if environment:
        from podplan.profile.environments import apply_environment, collect_param_values

        overlaid_profile = apply_environment(merged, environment, diagnostics)
        if overlaid_profile is None:
            return _EnvironmentResult([], diagnostics)
        doc = overlaid_profile
        layers.append(collect_param_values(merged, environment, diagnostics))
    if sets:
        from podplan.profile.flags import apply_set_flags

        doc, flag_values = apply_set_flags(doc, sets, diagnostics)
        layers.append(flag_values)
    expressions = _find_all_expressions(doc, diagnostics)
    if diagnostics:
        return _EnvironmentResult([], diagnostics)
    if (
        not any(expressions.values())
        and not any(step in doc.data["spec"] for step in RESOLUTION_FIELDS)
        and not any(layers)
    ):
        return _EnvironmentResult(
            [Variant(environment, environment, {}, lambda: doc, inventory)], diagnostics
        )
    return _resolve_instances(doc, environment, layers, expressions, inventory, budget, remaining)


def _find_all_expressions(doc: TracedDocument, diagnostics: list[Diagnostic]) -> dict[str, ExpressionTree]:
    """Find the expressions in each field of the spec, and in the metadata under the key ""."""
    profile = root_cursor(doc)
    for path in (("metadata", "name"), ("spec", "job")):
        cursor = profile.get(*path)
        if isinstance(cursor.value, str) and OPENING in cursor.value:
            message = f"{'.'.join(path)} may not hold an expression; write it out"
            diagnostics.append(Diagnostic("PROF010", message, cursor.path, doc=doc))
    expressions: dict[str, ExpressionTree] = {"": find_expressions(profile.get("metadata"), diagnostics)}
    for key in profile.get("spec").value:
        if OPENING in key:
            diagnostic = Diagnostic("PROF010", "a key may not hold an expression", ("spec", key), on_key=True)
            diagnostics.append(diagnostic._replace(doc=doc))
        if key not in RESOLUTION_FIELDS:
            expressions[key] = find_expressions(profile.get("spec", key), diagnostics)
    return expressions


def _resolve_instances(
    doc: TracedDocument,
    environment: str,
    layers: list[dict[str, Cursor]],
    expressions: dict[str, ExpressionTree],
    inventory: TracedDocument | None,
    budget: ExpressionBudget,
    remaining: int,
) -> _EnvironmentResult:
    from podplan.profile.matrix import expand_matrix
    from podplan.profile.naming import require_distinct_names
    from podplan.profile.params import choose_values, diagnose_missing_value, read_params

    diagnostics: list[Diagnostic] = []
    params = read_params(doc, diagnostics)
    matrix_instances = expand_matrix(doc, diagnostics)
    parts = {**doc.data["spec"], "": doc.data.get("metadata")}
    built_values = sum(count_built_values(parts[key], plan) for key, plan in expressions.items()) * len(
        matrix_instances
    )
    if built_values > MAX_INSTANCE_NODES or len(matrix_instances) > remaining:
        limit = "instances" if len(matrix_instances) > remaining else "instance-nodes"
        message = limit_exceeded(
            limit, f"the matrix makes {len(matrix_instances)} instances, too many; use fewer values"
        )
        diagnostics.append(Diagnostic("PROF017", message, ("spec", "matrix"), on_key=True, doc=doc))
    if diagnostics or params is None:
        return _EnvironmentResult([], diagnostics)
    matrix_keys = frozenset(key for instance in matrix_instances for key in instance.values)
    missing_params: dict[str, None] = {}
    variants: list[Variant] = []
    named_instances: list[tuple[Any, Any]] = []

    def resolve_instance(
        instance: Any, spent: ExpressionBudget, own: list[Diagnostic]
    ) -> TracedDocument | None:
        matrix_params = {key: cursor for key, cursor in instance.values.items() if key in params}
        for key in matrix_params:
            if layers and key in layers[-1] and layers[-1][key].doc.name == "--set":
                message = f'this has no effect: the matrix sets the param "{key}" in each instance'
                own.append(Diagnostic("PROF015", message, layers[-1][key].path, doc=layers[-1][key].doc))
        values = choose_values(params, [*layers, matrix_params], own)
        missing_params.update(dict.fromkeys(values.missing))
        own.extend(diagnose_missing_value(name)._replace(doc=doc) for name in values.missing)
        if own:
            return None
        return _resolve_instance(
            doc,
            expressions,
            _build_scope(environment, values.given, instance, matrix_keys, inventory),
            instance,
            spent,
            own,
        )

    def resolved_again(instance: Any) -> TracedDocument:
        again = resolve_instance(instance, ExpressionBudget(), [])
        assert again is not None
        return again

    is_kept = budget.keeps(built_values)
    for instance in matrix_instances:
        instance_diagnostics: list[Diagnostic] = []
        document = resolve_instance(instance, budget, instance_diagnostics)
        if document is not None and not instance_diagnostics:
            matrix_values = {key: cursor.value for key, cursor in instance.values.items()}
            variant_id = "/".join(part for part in (environment, instance.id) if part)
            name = root_cursor(document).get("metadata", "name")
            make = partial(_same, document) if is_kept else partial(resolved_again, instance)
            variants.append(Variant(variant_id, environment, matrix_values, make, inventory))
            named_instances.append((instance, name.value))
        diagnostics.extend(instance_diagnostics)
    diagnostic_count = len(diagnostics)
    require_distinct_names(named_instances, doc, diagnostics)
    return _EnvironmentResult(
        variants if len(diagnostics) == diagnostic_count else [], diagnostics, tuple(missing_params)
    )


def _same(document: TracedDocument) -> TracedDocument:
    return document


def _build_scope(
    environment: str,
    params: Mapping[str, Cursor],
    instance: Any,
    matrix_keys: frozenset[str],
    inventory: TracedDocument | None,
) -> ExpressionScope:
    matrix = {key: cursor.value for key, cursor in instance.values.items()}
    values: dict[str, Any] = {
        "params": {name: cursor.value for name, cursor in params.items()},
        "matrix": {**matrix, "id": instance.label} if matrix else {},
        "environment": environment,
        "metadata": {},
    }
    cursors = {("params", name): cursor for name, cursor in params.items()}
    cursors |= {("matrix", key): cursor for key, cursor in instance.values.items()}
    if inventory is not None:
        spec = root_cursor(inventory).get("spec")
        values["inventory"] = spec.value if isinstance(spec.value, dict) else {}
        cursors |= {("inventory", section): cursor for section, cursor in spec.fields().items()}
    names = {
        "params": params,
        "matrix": {*matrix_keys, "id"} if matrix_keys else (),
        "metadata": _EXPRESSION_METADATA,
    }
    return ExpressionScope(values, cursors, {**names, "inventory": INVENTORY_FIELDS})


def _resolve_instance(
    doc: TracedDocument,
    expressions: dict[str, ExpressionTree],
    scope: ExpressionScope,
    instance: Any,
    budget: ExpressionBudget,
    diagnostics: list[Diagnostic],
) -> TracedDocument:
    """Return the profile of one instance: expressions evaluated, its name set, and consumed fields
    removed."""
    from podplan.profile.naming import build_name

    profile = root_cursor(doc)
    written_metadata = profile.get("metadata")
    # The metadata first, because other expressions can read it.
    name_scope = _add_metadata(scope, {"name": profile.get("metadata", "name").value})
    metadata = evaluate_tree(written_metadata, expressions[""], name_scope, budget, diagnostics)
    metadata_values = (
        written_metadata.value if expressions[""] is None else build_traced_document(metadata, doc.name).data
    )
    scope = _add_metadata(scope, metadata_values)
    spec = {
        key: evaluate_tree(profile.get("spec", key), expressions[key], scope, budget, diagnostics)
        for key in profile.get("spec").value
        if key not in RESOLUTION_FIELDS
    }
    tree: dict[str, Any] = {key: preserve_null(profile.get(key)) for key in profile.value}
    tree["spec"] = attribute_to(profile.get("spec"), spec)
    if written_metadata.exists:
        tree["metadata"] = metadata
    own_name = build_name(
        profile,
        instance,
        lambda: build_traced_document(tree["spec"], doc.name).data,
        scope,
        budget,
        diagnostics,
    )
    if own_name is not None:
        fields = (
            {key: preserve_null(written_metadata.get(key)) for key in written_metadata.value}
            if expressions[""] is None
            else metadata.value
        )
        tree["metadata"] = attribute_to(written_metadata, {**fields, "name": own_name})
    return build_traced_document(attribute_to(profile, tree), doc.name)


def _add_metadata(scope: ExpressionScope, metadata: Any) -> ExpressionScope:
    metadata_fields = metadata if isinstance(metadata, dict) else {}
    visible = {
        key: metadata_fields[key] for key in _EXPRESSION_METADATA if metadata_fields.get(key) is not None
    }
    return scope._replace(values={**scope.values, "metadata": visible})


def _require_distinct_ids(
    variants: list[Variant], merged: TracedDocument, diagnostics: list[Diagnostic]
) -> list[Variant]:
    """Return the variants, unless an environment has the name of a matrix instance."""
    result = {variant.id: variant for variant in reversed(variants)}
    if len(result) == len(variants):
        return variants
    message = "an environment has the name of a matrix instance; rename the environment"
    diagnostics.append(Diagnostic("PROF013", message, ("spec", "environments"), on_key=True, doc=merged))
    return []


def _deduplicate(diagnostics: list[Diagnostic], profile: TracedDocument) -> tuple[Diagnostic, ...]:
    """Return each diagnostic once, even if many instances have it; those of flags are moved to the
    profile."""
    result: dict[tuple[Any, ...], Diagnostic] = {}
    for diagnostic in diagnostics:
        assert diagnostic.doc is not None
        last_step = trace_to_source(diagnostic.doc, diagnostic.path)[-1]
        source = last_step.doc.source
        if source is None and last_step.origin is not None and last_step.origin.flag is not None:
            message = f"{last_step.origin.flag.name}: {diagnostic.message}"
            diagnostic = diagnostic._replace(message=message, path=("spec",), on_key=False, doc=profile)
        document_key = (source.file, source.index) if source is not None else ()
        result.setdefault((document_key, last_step.path, diagnostic.rule, diagnostic.message), diagnostic)
    return tuple(result.values())
