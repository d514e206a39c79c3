"""Images: their registry, their reference, and whether all replicas get the same one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Origin, find_origin
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.kubernetes.images import fault
from podplan.lint.analysis.jobs import format_list
from podplan.lint.checks.registration import COUNT, STRINGS, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest


@check()
def image_not_allowed(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """An image from a registry that the inventory does not list.

    Values: ``image``, ``registries``, ``instead``.
    """
    inventory = target.job.inventory
    registries = get_mapping(inventory.data, "spec").get("registries") if inventory is not None else None
    if inventory is None or not isinstance(registries, list) or not registries:
        return
    allowed = [normalize_registry(str(registry)) for registry in registries]
    for path, image in _iter_images(target.data):
        full_name = normalize_image(image)
        if not any(
            full_name == one or full_name.startswith((f"{one}/", f"{one}:", f"{one}@")) for one in allowed
        ):
            values = {
                "image": image,
                "registries": format_list([str(one) for one in registries], 6),
                "instead": _describe_remedy(find_origin(target.doc, path)[0], image),
            }
            related = [(inventory, ("spec", "registries"), "the registries that are allowed")]
            yield Violation(path, values, related=related)


def _describe_remedy(origin: Origin, image: str) -> str:
    """What to do about an image: one that a controller adds is no part of the CR."""
    if origin.behavior is not None and origin.behavior.value == image:
        option = origin.behavior.id
        return f"let the controller add a copy in an allowed registry, and set {option} in [lowering] to it"
    return "use a copy of the image in an allowed registry"


def _iter_images(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The images of a Pod or TensorBoard with their paths."""
    spec = get_mapping(data, "spec")
    if get_text(spec, "image"):
        yield ("spec", "image"), get_text(spec, "image")
    for key in ("initContainers", "containers"):
        for number, container in get_entries(spec, key):
            if _is_literal_image(get_text(container, "image")):
                yield ("spec", key, number, "image"), get_text(container, "image")


def normalize_registry(entry: str) -> str:
    """Return a registry, or a path in one, as a prefix of normalized images."""
    entry = entry.rstrip("/")
    first = entry.partition("/")[0]
    is_host = "." in first or ":" in first or first == "localhost"
    return entry if is_host else f"docker.io/{entry}"


def normalize_image(image: str) -> str:
    """An image with its registry; without one it is on Docker Hub (https://docs.docker.com/reference/cli/docker/image/tag/)."""
    image = image.rstrip("/")
    first, slash, repository = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return (
            f"docker.io/library/{repository}"
            if first == "docker.io" and repository and "/" not in repository
            else image
        )
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"


@check(aliases=("invalid-image",))
def invalid_image_reference(subject: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """An image that is no valid reference. Values: ``image`` and ``fault``."""
    if _is_for_virtual_node(subject.data):
        return
    for path, image in _iter_images(subject.data):
        wrong = "" if "$" in image or "{{" in image else fault(image)
        if wrong:
            yield Violation(path, {"image": image, "fault": wrong})


def _is_for_virtual_node(data: Mapping[str, Any]) -> bool:
    """Whether a Pod tolerates the taint of a virtual node, whose provider parses the image itself."""
    tolerations = get_entries(get_mapping(data, "spec"), "tolerations")
    return any(
        get_text(one, "key").startswith(("virtual-kubelet.io/", "virtual-node.")) for _, one in tolerations
    )


@check(params=object_schema({"pods": COUNT, "tags": STRINGS}), aliases=("moving-tag",))
def mutable_tag(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """An image whose tag may mean another image on the next node. Values: ``image``, ``says``, ``pods``."""
    image = get_text(target.data, "image")
    name = image.partition("@")[0].rpartition("/")[2]
    tag = name.partition(":")[2]
    if not _is_literal_image(image) or "@" in image or tag not in ("", *params["tags"]):
        return
    number = _count_pods_with_image(target, image)
    if number >= params["pods"]:
        says = f'the tag "{tag}"' if tag else 'no tag, which means "latest"'
        yield Violation(("image",), {"image": image, "says": says, "pods": number})


@check(params=object_schema({"pods": COUNT}))
def always_pulled(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """An image that many Pods pull at each start. Values: ``pods``."""
    if target.data.get("imagePullPolicy") != "Always":
        return
    number = _count_pods_with_image(target, get_text(target.data, "image"))
    if number >= params["pods"]:
        yield Violation(("imagePullPolicy",), {"pods": number})


@check()
def no_digest(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """An image without a digest. Values: ``image``."""
    image = get_text(target.data, "image")
    if _is_literal_image(image) and "@" not in image:
        yield Violation(("image",), {"image": image})


def _is_literal_image(image: str) -> bool:
    """Whether an image is stated, and is no placeholder of another tool such as $(params.image)."""
    return bool(image) and not any(mark in image for mark in ("$(", "${", "{{"))


def _count_pods_with_image(target: Target, image: str) -> int:
    """Return how many Pods of the job run an image."""
    return _count_pods_by_image(target.job).get(image, 0)


@cache_latest
def _count_pods_by_image(job: LoweredJob) -> dict[str, int]:
    pod_counts: dict[str, int] = {}
    for group in job.pods:
        for image in {image for _, image in _iter_images(group.doc.data)}:
            pod_counts[image] = pod_counts.get(image, 0) + group.replicas
    return pod_counts
