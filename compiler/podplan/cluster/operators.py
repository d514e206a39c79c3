"""Lowering options that the Deployments of operators state: their flags, variables and image tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cursor, Path, TracedDocument, root_cursor, trace_to_source
from podplan.core.replica_groups import LoweringOptions, StatedValue
from podplan.core.typing import NamedTuple
from podplan.kinds.registry import OPERATOR_VERSIONS
from podplan.kubernetes.accessors import get_mapping, get_text

VERSION = "version"  # the option with the version of an operator
_NONE, _VOLCANO, _SCHEDULER_PLUGINS = "none", "volcano", "scheduler-plugins"
_TAG_VERSION = compile_lazily(r"v(\d+\.\d+)(?:\.\d+)?")
# Values that are filled in later: by a shell, Helm, kustomize or envsubst.
_UNKNOWN_VALUE = compile_lazily(r"\$\(|\$\{|\{\{")
_KUSTOMIZE_CHANGES = ("patches", "patchesJson6902", "patchesStrategicMerge", "images", "replacements")


class Operator(NamedTuple):
    """An operator by the name of its image: the apiVersion of its kinds, and what options it states.

    ``flags`` and ``variables`` turn the value of a flag or variable into options.
    """

    image: str
    api_version: str
    flags: Mapping[str, Callable[[str], dict[str, Any]]] = {}
    variables: Mapping[str, Callable[[str], dict[str, Any]]] = {}


class OperatorOption(NamedTuple):
    """A value of a lowering option for the kinds of ``api_version``, and how and where it is written.

    ``image`` is that of the operator.
    """

    image: str
    api_version: str
    id: str
    value: Any
    written: str
    place: Cursor


class OperatorOptions(NamedTuple):
    """The options that Deployments state.

    ``applied`` has by apiVersion those on which all Deployments of an operator agree, ``disputed`` those on
    which they do not, with another Deployment that states a different value. ``changed`` are the images of
    operators whose Deployment kustomize or Helm changes, with the file that does: nothing of them is applied.
    """

    applied: Mapping[str, Mapping[str, OperatorOption]] = {}
    disputed: tuple[tuple[OperatorOption, Cursor], ...] = ()
    changed: Mapping[str, str] = {}

    def build_stated_values(self, api_version: str) -> dict[str, StatedValue]:
        """Return the values for the kinds of an apiVersion, by the id of their option."""
        return {
            id_: StatedValue(one.value, f"{one.written.partition('=')[0]} in {locate(one.place)}")
            for id_, one in self.applied.get(api_version, {}).items()
        }


def _set(id_: str, convert: Callable[[str], Any] = str) -> Callable[[str], dict[str, Any]]:
    return lambda text: {id_: convert(text)}


def _set_gang_scheduler(prefix: str) -> Callable[[str], dict[str, Any]]:
    """Any name but volcano is that of a scheduler with the scheduler plugins."""

    def read(text: str) -> dict[str, Any]:
        if not text:
            return {"gang-scheduler": _NONE}
        if text.lower() == _VOLCANO:
            return {"gang-scheduler": _VOLCANO}
        return {"gang-scheduler": _SCHEDULER_PLUGINS, f"{prefix}.scheduler-name": text}

    return read


OPERATORS = (
    Operator(
        "training-operator",
        "kubeflow.org/v1",
        {
            "gang-scheduler-name": _set_gang_scheduler("training-operator"),
            "pytorch-init-container-image": _set("training-operator.init-image"),
            "pytorch-init-container-max-tries": _set("training-operator.init-tries", int),
            "mpi-kubectl-delivery-image": _set("training-operator.kubectl-delivery-image"),
        },
        {"CUSTOM_CLUSTER_DOMAIN": _set("training-operator.cluster-domain")},
    ),
    Operator(
        "mpi-operator",
        "kubeflow.org/v2beta1",
        {
            "gang-scheduling": _set_gang_scheduler("mpi-operator"),
            "cluster-domain": _set("mpi-operator.cluster-domain"),
        },
    ),
    Operator("trainer-controller-manager", "trainer.kubeflow.org/v1alpha1"),
    Operator("jobset", "jobset.x-k8s.io/v1alpha2"),
)


def read_operators(
    documents: Iterable[TracedDocument], changing_texts: Mapping[str, str] = {}
) -> OperatorOptions:
    """Return the options that Deployments state; ``changing_texts`` are those of templates and patches."""
    documents = list(documents)
    changed = dict(_iter_changed(documents, changing_texts))
    stated: dict[str, list[tuple[Cursor, dict[str, OperatorOption]]]] = {}
    for document in documents:
        for operator, container in iter_operator_containers(document):
            options = {one.id: one for one in iter_options(operator, container)}
            stated.setdefault(operator.image, []).append((container, options))
    applied: dict[str, dict[str, OperatorOption]] = {}
    disputed: list[tuple[OperatorOption, Cursor]] = []
    for image, deployments in stated.items():
        for id_ in dict.fromkeys(id_ for _, options in deployments for id_ in options):
            values = [options.get(id_) for _, options in deployments]
            first = next(one for one in values if one is not None)
            if any(one is None or one.value != first.value for one in values):
                disputed += _pair_different(id_, deployments)
            elif image not in changed:
                applied.setdefault(first.api_version, {})[id_] = first
    return OperatorOptions(applied, tuple(disputed), changed)


def _pair_different(
    id_: str, deployments: list[tuple[Cursor, dict[str, OperatorOption]]]
) -> Iterator[tuple[OperatorOption, Cursor]]:
    """Yield each statement of an option with a Deployment that states a different value, or nothing."""
    for _, options in deployments:
        if (option := options.get(id_)) is None:
            continue
        for container, others in deployments:
            other = others.get(id_)
            if other is None or other.value != option.value:
                yield option, other.place if other is not None else container
                break


def _iter_changed(
    documents: Iterable[TracedDocument], changing_texts: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the images of operators that a file changes, and the file."""
    texts = dict(changing_texts)
    for document in documents:
        data = document.data if isinstance(document.data, dict) else {}
        changes = {key: data[key] for key in _KUSTOMIZE_CHANGES if key in data}
        if changes and get_text(data, "kind") in ("", "Kustomization", "Component"):
            texts[document.file] = str(changes)
    for file, text in texts.items():
        for operator in OPERATORS:
            if operator.image in text:
                yield operator.image, file


def iter_operator_containers(document: TracedDocument) -> Iterator[tuple[Operator, Cursor]]:
    """Yield the containers of a Deployment that run an operator."""
    data = document.data
    if not isinstance(data, dict) or get_text(data, "kind") != "Deployment":
        return
    if not get_text(data, "apiVersion").startswith("apps/"):
        return
    template = root_cursor(document).get("spec", "template", "spec")
    for container in template.get("containers").entries():
        image = str(container.get("image").value).partition("@")[0].rpartition("/")[2].partition(":")[0]
        for operator in OPERATORS:
            if operator.image == image:
                yield operator, container


def iter_options(operator: Operator, container: Cursor) -> Iterator[OperatorOption]:
    """Yield the options that a container of an operator states, the last of each id at the end."""
    words = [word for field in ("command", "args") for word in container.get(field).entries()]
    for number, word in enumerate(words):
        text = str(word.value)
        flag, separator, value = text.lstrip("-").partition("=")
        read = operator.flags.get(flag) if text.startswith("-") else None
        if read is None:
            continue
        if not separator and number + 1 < len(words):
            value = str(words[number + 1].value)
        written = f"{text.partition('=')[0]}={value}"
        yield from _read_value(operator, read, value, written, word)
    for variable in container.get("env").entries():
        entry = variable.value if isinstance(variable.value, dict) else {}
        read = operator.variables.get(str(entry.get("name")))
        if read is not None and isinstance(entry.get("value"), str):
            value = entry["value"]
            yield from _read_value(operator, read, value, f"{entry['name']}={value}", variable.get("value"))
    yield from _read_version(operator, container.get("image"))


def _read_value(
    operator: Operator, read: Callable[[str], dict[str, Any]], value: str, written: str, place: Cursor
) -> Iterator[OperatorOption]:
    if _UNKNOWN_VALUE.search(value):
        return
    try:
        options = read(value)
    except ValueError:  # the operator does not start with such a value
        return
    for id_, one in options.items():
        yield OperatorOption(operator.image, operator.api_version, id_, one, written, place)


def _read_version(operator: Operator, image: Cursor) -> Iterator[OperatorOption]:
    """The version of an operator, if its tag states one whose behaviour podplan knows."""
    tag = str(image.value).partition("@")[0].rpartition("/")[2].partition(":")[2]
    match = _TAG_VERSION.fullmatch(tag)
    group = operator.api_version.partition("/")[0]
    if match is not None and match[1] in OPERATOR_VERSIONS[group]:
        yield OperatorOption(
            operator.image, operator.api_version, VERSION, match[1], f"image tag {tag}", image
        )


def explain_unapplied(
    option: OperatorOption, options: OperatorOptions, lowering: LoweringOptions, locations: Mapping[str, str]
) -> str:
    """Return what contradicts an option, such as the configuration, which ``locations`` has the lines of; ""
    if nothing does."""
    setting = lowering.find_setting(option.api_version.partition("/")[0], option.id)
    if setting is not None:
        if setting.value == option.value:
            return ""
        where = locations.get(setting.source, "the configuration")
        return f"{where} sets {option.id} to {setting.value}, which podplan uses"
    place = _identify_place(option.place)
    for disputed, other in options.disputed:
        if disputed.id == option.id and _identify_place(disputed.place) == place:
            name = get_text(get_mapping(other.doc.data, "metadata"), "name")
            return (
                f"the Deployment {name} in {locate(other)} states a different value, so podplan uses neither"
            )
    if option.image in options.changed:
        return f"{options.changed[option.image]} changes the Deployment, so podplan does not use it"
    return ""


def iter_stated(document: TracedDocument) -> Iterator[OperatorOption]:
    """Yield the options that a Deployment states, each once: the last flag of several counts."""
    for operator, container in iter_operator_containers(document):
        yield from {one.id: one for one in iter_options(operator, container)}.values()


def locate(place: Cursor) -> str:
    """Return the file and line of a place in a document."""
    document, path, *_ = trace_to_source(place.doc, place.path)[-1]
    return f"{document.source.file}:{document.source.span(path).line}" if document.source else document.name


def _identify_place(place: Cursor) -> tuple[str, int, Path]:
    document, path, *_ = trace_to_source(place.doc, place.path)[-1]
    return document.name, document.source.index if document.source is not None else 0, path
