"""Images: where they come from, and whether all replicas get the same one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.kubernetes.images import fault
from podplan.lint.analysis.jobs import shown_list
from podplan.lint.target import Hit, Job, Subject, for_one


def image_not_allowed(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """An image from elsewhere than the registries of the inventory. Values: ``image``, ``registries``."""
    inventory = subject.job.inventory
    listed = mapping(inventory.data, "spec").get("registries") if inventory is not None else None
    if inventory is None or not isinstance(listed, list) or not listed:
        return
    allowed = [_registry(str(registry)) for registry in listed]
    for path, image in _images(subject.data):
        whole = _whole(image)
        if not any(whole == one or whole.startswith((f"{one}/", f"{one}:", f"{one}@")) for one in allowed):
            values = {"image": image, "registries": shown_list([str(one) for one in listed], 6)}
            related = [(inventory, ("spec", "registries"), "the registries that are allowed")]
            yield Hit(path, values, related=related)


def _images(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The images of a Pod or TensorBoard with their paths."""
    spec = mapping(data, "spec")
    if text(spec, "image"):
        yield ("spec", "image"), text(spec, "image")
    for key in ("initContainers", "containers"):
        for number, container in entries(spec, key):
            if _is_named(text(container, "image")):
                yield ("spec", key, number, "image"), text(container, "image")


def _registry(entry: str) -> str:
    """A registry, or a path in one, as images with their registry begin."""
    entry = entry.rstrip("/")
    first = entry.partition("/")[0]
    is_host = "." in first or ":" in first or first == "localhost"
    return entry if is_host else f"docker.io/{entry}"


def _whole(image: str) -> str:
    """An image with its registry; without one it is on Docker Hub (https://docs.docker.com/reference/cli/docker/image/tag/)."""
    image = image.rstrip("/")
    first, slash, rest = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return f"docker.io/library/{rest}" if first == "docker.io" and rest and "/" not in rest else image
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"


def invalid_image(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """An image that is no reference. Values: ``image`` and ``fault``."""
    for path, image in _images(subject.data):
        wrong = "" if "$" in image or "{{" in image else fault(image)
        if wrong:
            yield Hit(path, {"image": image, "fault": wrong})


def moving_tag(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """An image that may be another one on the next node. Values: ``image``, ``says``, ``pods``."""
    image = text(subject.data, "image")
    name = image.partition("@")[0].rpartition("/")[2]
    tag = name.partition(":")[2]
    if not _is_named(image) or "@" in image or tag not in ("", *params["tags"]):
        return
    number = _pods_with(subject, image)
    if number >= params["pods"]:
        says = f'the tag "{tag}"' if tag else 'no tag, which means "latest"'
        yield Hit(("image",), {"image": image, "says": says, "pods": number})


def always_pulled(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """An image that many Pods ask the registry for at each start. Values: ``pods``."""
    if subject.data.get("imagePullPolicy") != "Always":
        return
    number = _pods_with(subject, text(subject.data, "image"))
    if number >= params["pods"]:
        yield Hit(("imagePullPolicy",), {"pods": number})


def no_digest(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """An image without a digest. Values: ``image``."""
    image = text(subject.data, "image")
    if _is_named(image) and "@" not in image:
        yield Hit(("image",), {"image": image})


def _is_named(image: str) -> bool:
    """Whether an image is there, and no placeholder such as $(params.image) for another tool to fill in."""
    return bool(image) and not any(mark in image for mark in ("$(", "${", "{{"))


def _pods_with(subject: Subject, image: str) -> int:
    """How many Pods of the job run an image."""
    return _pods_by_image(subject.job).get(image, 0)


@for_one
def _pods_by_image(job: Job) -> dict[str, int]:
    pods: dict[str, int] = {}
    for group in job.pods:
        for image in {image for _, image in _images(group.doc.data)}:
            pods[image] = pods.get(image, 0) + group.replicas
    return pods
