"""The whole way, in order; read this first.

    profile ─ extend ─ environment ─ matrix ─ expressions ─ compile ─▶ CR ─ lower ─▶ Pods, Services, …
       └──────────────── problems on all three, each with the document it was seen in ──────────────┘

A hand-written CR enters at CR. Every step is a pure function from documents to documents; this module only
puts them one after the other, and reads the files that a profile names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan import kubernetes
from podplan.core.errors import RequestError
from podplan.core.findings import Path, Problem
from podplan.core.provenance import Doc, trace
from podplan.core.replica_groups import Group, Options
from podplan.core.typing import TYPE_CHECKING, Any, Literal, NamedTuple
from podplan.kinds.registry import KIND_NAMES, lower_cr
from podplan.kinds.t9k import behaviors
from podplan.lint.document_diagnostics import Seen
from podplan.lint.lint_config import Terms
from podplan.lint.policy import Policy
from podplan.schema import check_against, check_cr
from podplan.schema.identity import known_but_not_lowered
from podplan.schema.pruning import UNKNOWN, pruned
from podplan.workspace import Reader
from podplan.workspace.documents import Item

if TYPE_CHECKING:
    from podplan.profile.resolve import Resolution, Variant

_LOWERED = f"podplan lowers {', '.join(KIND_NAMES)}; --ignore CR900 says nothing of the others"
FORMS = {"profile": "JobProfile", "base": "JobProfile", "inventory": "ClusterInventory"}


class Settings(NamedTuple):
    """What the user asked for, from flags and configuration together.

    ``environments`` is "all" for profiles as written and under each, "each" for under each, or names; None
    is for profiles that have none.
    ``options`` is what lowering is told; ``inventory`` is the path of the ClusterInventory, if one was named;
    ``gitops`` is the tool that the CRs are rendered for: none, argocd or flux.
    ``policies`` are those that are on, and ``terms`` say where that is otherwise, and what may be silenced.
    """

    k8s_version: str = kubernetes.DEFAULT_VERSION
    environments: Literal["all", "each"] | tuple[str, ...] | None = "all"
    sets: Mapping[str, str] = {}
    options: Options = Options()
    inventory: str = ""
    gitops: str = "none"
    policies: tuple[Policy, ...] = ()
    terms: Terms = Terms()


class Plan(NamedTuple):
    """One CR, hand-written or compiled from one variant of a profile, and what became of it.

    ``variant`` is the environment and matrix instance, "" for none, and ``profile`` the profile as resolved
    for it. ``inventory`` is what names in it were looked up in. ``cr`` is None where the profile did not
    compile, and ``lowered`` is false where the CR could not be lowered; then ``seen`` says why.
    A plan whose variant is None is for what is wrong with a profile as a whole; ``failed`` are then the
    environments that gave no variant.
    """

    item: Item
    seen: tuple[Seen, ...] = ()
    variant: str | None = ""
    environment: str = ""
    failed: tuple[str, ...] = ()
    profile: Doc | None = None
    inventory: Doc | None = None
    cr: Doc | None = None
    groups: tuple[Group, ...] = ()
    lowered: bool = False


def plans(item: Item, settings: Settings, reader: Reader) -> Iterator[Plan]:
    """Every CR that a profile stands for, or the CR itself, lowered and with its problems."""
    named = settings.inventory
    if item.what == "podplan":
        unknown = Problem("PROF001", _unknown_kind(item.doc.data), ("kind",))
        yield Plan(item, (Seen("profile", item.doc, unknown),))
        return
    if item.what == "cr":
        yield lower(Plan(item, cr=item.doc, inventory=reader.inventory_if_any(item.doc, named)), settings)
        return
    from podplan.profile.resolve import resolve

    resolution = resolve(
        item.doc,
        load=reader.load,
        inventory=(reader.inventory_for if _refers_to_inventory(item.doc) else reader.inventory_if_any)(
            item.doc, named
        ),
        environments=settings.environments,
        sets=settings.sets,
    )
    _demand_sense(item, settings, resolution)
    form = (Seen("profile", item.doc, problem) for problem in check_form(item))
    seen = (*form, *(Seen("profile", doc, problem) for doc, problem in resolution.problems))
    if seen or resolution.failed:
        yield Plan(item, seen, None, failed=resolution.failed)
    for variant in resolution.variants:
        yield compile_variant(item, variant, settings)


def _demand_sense(item: Item, settings: Settings, resolution: Resolution) -> None:
    """Raises RequestError for what the flags ask of a profile and it does not have."""
    names = ", ".join(resolution.environments)
    if settings.environments is None and names:
        raise RequestError(
            f"{item.doc.name} has environments ({names});"
            " say which with -e NAME, or -e all (in [[render]]: env)"
        )
    for _, problem in resolution.problems:
        if problem.rule == "PROF014":
            unknown = problem.message.partition("; there is ")[0]
            raise RequestError(f"{item.doc.name}: {unknown}; it has {names}")
        if problem.rule == "PROF015":
            from podplan.redaction.detection import flag_values
            from podplan.redaction.redactor import Redactor

            said = Redactor(flag_values(settings.sets)).text(problem.message)
            raise RequestError(f"{item.doc.name}: {said}")


def compile_variant(item: Item, variant: Variant, settings: Settings) -> Plan:
    """One environment and matrix instance of a profile on its way to Pods."""
    from podplan.kinds.compilation import compile_profile

    compiled = compile_profile(variant.doc, variant.inventory, settings.gitops)
    seen = tuple(Seen("profile", variant.doc, problem) for problem in compiled.problems)
    plan = Plan(
        item,
        seen,
        variant.id,
        variant.environment,
        profile=variant.doc,
        inventory=variant.inventory,
        cr=compiled.cr,
    )
    return plan if compiled.cr is None else lower(plan, settings)


def lower(plan: Plan, settings: Settings) -> Plan:
    """``plan`` with its CR checked, lowered if its schema lets it, and the lowered objects checked."""
    cr = plan.cr
    assert cr is not None
    checked = check_cr(cr.data, settings.k8s_version)
    seen = (*plan.seen, *(Seen("cr", cr, problem) for problem in checked.problems))
    kind = cr.data.get("kind")
    if isinstance(kind, str) and known_but_not_lowered(kind):
        message = f"{kind} is not lowered yet: nothing of it is checked"
        unlowered = Problem("CR900", message, ("kind",), help=_LOWERED)
        return plan._replace(seen=(*seen, Seen("cr", cr, unlowered)))
    if not checked.lowerable:
        return plan._replace(seen=seen)
    groups = tuple(lower_cr(pruned(cr, checked.problems), settings.options))
    dropped_from = {problem.path[:-1] for problem in checked.problems if problem.rule in UNKNOWN}
    below = (
        one
        for group in groups
        for one in check_object(group.doc, settings, group)
        if not (dropped_from and _lacks_what_was_dropped(one, dropped_from))
    )
    return plan._replace(groups=groups, seen=(*seen, *below), lowered=True)


def _lacks_what_was_dropped(seen: Seen, dropped_from: set[Path]) -> bool:
    """Whether a field is missing in a map of the CR of which the API server dropped an unknown one.

    What the CR itself lacks there is told of the CR.
    """
    if seen.problem.rule != "SCHEMA003":
        return False
    way = trace(seen.doc, seen.problem.path)
    return len(way) > 1 and way[1].path in dropped_from


def check_object(doc: Doc, settings: Settings, group: Group | None = None) -> Iterator[Seen]:
    """The problems of a lowered object, or of a plain Kubernetes object in the tree.

    A lowered PodGroup of another API, which the configuration may say, is checked as one of ours.
    """
    data = doc.data
    if group is not None and data["kind"] == "PodGroup":
        data = {**data, "apiVersion": behaviors.POD_GROUP_API.value}
    for problem in kubernetes.check(data, settings.k8s_version):
        yield Seen("lowered", doc, problem, group)


def check_form(item: Item) -> list[Problem]:
    """The faults in the form of a profile, a base or an inventory: they are ours, not the API server's."""
    return [problem._replace(rule="PROF001") for problem in check_against(FORMS[item.what], item.doc.data)]


def _unknown_kind(data: Mapping[str, Any]) -> str:
    kind = data.get("kind")
    named = f'no kind "{kind}"' if isinstance(kind, str) else "no kind"
    return f"podplan knows {named}; there are JobProfile, JobProfileBase and ClusterInventory"


def _refers_to_inventory(doc: Doc) -> bool:
    """Whether a profile could refer to the inventory, so that two to choose from are an error."""
    if doc.source is None:
        return False
    text, span = doc.source.text, doc.source.span(())
    return any(text.find(word, span.start, span.end) >= 0 for word in ("hardware", "inventory", "extends"))
