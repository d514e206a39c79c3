"""Facts from other objects: names, sizes, capacities and flags of operators.

Values of Secrets are never read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from podplan.cluster.operators import OperatorOption, iter_stated
from podplan.core.provenance import Cursor, TracedDocument, root_cursor
from podplan.kubernetes.accessors import get_mapping, get_text, get_texts

_ENCRYPTED = "encryptedData"
_DEPLOYMENT = "Deployment"
Facts = Iterator[tuple[str, Cursor]]


def iter_object_facts(
    documents: Iterable[TracedDocument], explain_unapplied: Callable[[OperatorOption], str]
) -> Iterator[tuple[str, str, str, Cursor]]:
    """Yield kind, name, text and place of each fact, by kind.

    ``explain_unapplied`` says why a flag of an operator sets no lowering option, "" if it does.
    """
    found: list[tuple[int, str, str, str, Cursor]] = []
    order = {key: number for number, key in enumerate((*_READERS, ("apps", _DEPLOYMENT)))}
    for document in documents:
        if not isinstance(document.data, dict):
            continue
        group = get_text(document.data, "apiVersion").rpartition("/")[0]
        kind = get_text(document.data, "kind")
        read = _READERS.get((group, kind))
        if (group, kind) == ("apps", _DEPLOYMENT):
            read = partial(_read_operator, explain_unapplied=explain_unapplied)
        if read is None:
            continue
        metadata = get_mapping(document.data, "metadata")
        name, namespace = get_text(metadata, "name"), get_text(metadata, "namespace")
        shown = f"{namespace}/{name}" if namespace else name
        found += (
            (order[group, kind], kind, shown, text, place) for text, place in read(root_cursor(document))
        )
    for one in sorted(found, key=lambda one: one[0]):
        yield one[1:]


def _read_claim(claim: Cursor) -> Facts:
    spec = claim.get("spec").value
    modes = ", ".join(text for _, text in get_texts(spec, "accessModes")) or "no access mode"
    size = get_mapping(get_mapping(spec, "resources"), "requests").get("storage")
    storage_class = get_text(spec, "storageClassName")
    parts = [modes, str(size) if size is not None else "", f"class {storage_class}" if storage_class else ""]
    yield "; ".join(filter(None, parts)), claim


def _read_storage_class(storage_class: Cursor) -> Facts:
    mode = storage_class.get("volumeBindingMode").value_or("Immediate")
    yield f"provisioner {storage_class.get('provisioner').value}; binds {mode}", storage_class


def _read_keys(*fields: str) -> Callable[[Cursor], Facts]:
    def read(one: Cursor) -> Facts:
        keys = sorted({str(key) for field in fields for key in get_mapping(one.value, field)})
        yield (f"keys {', '.join(keys)}" if keys else "no keys"), one

    return read


def _read_sealed_secret(sealed: Cursor) -> Facts:
    keys = sorted(map(str, get_mapping(sealed.get("spec").value, _ENCRYPTED)))
    yield f"makes a Secret with the keys {', '.join(keys) or 'that git does not state'}", sealed


def _read_external_secret(external: Cursor) -> Facts:
    target = external.get("spec", "target", "name")
    name = target.value or external.get("metadata", "name").value
    keys = sorted(str(one.get("secretKey").value) for one in external.get("spec", "data").entries())
    text = f"makes the Secret {name}"
    yield (f"{text} with the keys {', '.join(keys)}" if keys else text), external


def _read_account(account: Cursor) -> Facts:
    secrets = [str(one.get("name").value) for one in account.get("imagePullSecrets").entries()]
    yield (f"pulls images with {', '.join(secrets)}" if secrets else "exists"), account


def _read_volcano_queue(queue: Cursor) -> Facts:
    spec = queue.get("spec")
    for field in ("capability", "deserved", "guarantee"):
        amounts = spec.get(field)
        if field == "guarantee":
            amounts = amounts.get("resource")
        if isinstance(amounts.value, dict) and amounts.value:
            yield f"{field} {_format_amounts(amounts.value)}", amounts
    parent, state = spec.get("parent").value, queue.get("status", "state").value
    if parent or state not in (None, "Open"):
        yield "; ".join(filter(None, (parent and f"parent {parent}", state and f"state {state}"))), queue
    if not spec.value:
        yield "no limits", queue


def _read_node_pool(pool: Cursor) -> Facts:
    limits = pool.get("spec", "limits")
    if isinstance(limits.value, dict):
        yield f"at most {_format_amounts(limits.value)}", limits
    template = pool.get("spec", "template", "spec")
    for one in template.get("requirements").entries():
        values = ", ".join(text for _, text in get_texts(one.value, "values"))
        yield f"nodes with {one.get('key').value} {one.get('operator').value} {values}".rstrip(), one
    for one in template.get("taints").entries():
        taint = one.value if isinstance(one.value, dict) else {}
        yield f"taint {taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}", one


def _read_operator(deployment: Cursor, explain_unapplied: Callable[[OperatorOption], str]) -> Facts:
    """Yield the lowering options that a Deployment of an operator states."""
    for option in iter_stated(deployment.doc):
        group = option.api_version.partition("/")[0]
        text = f'{option.written} sets [lowering."{group}"] {option.id}'
        reason = explain_unapplied(option)
        if reason:
            text = f"{option.written} is not applied: {reason}"
        yield (
            text if option.written.endswith(f"={option.value}") or reason else f"{text} to {option.value}",
            option.place,
        )


def _format_amounts(amounts: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items())


# Readers by group and kind, in the order of the output.
_READERS: dict[tuple[str, str], Callable[[Cursor], Facts]] = {
    ("scheduling.volcano.sh", "Queue"): _read_volcano_queue,
    ("karpenter.sh", "NodePool"): _read_node_pool,
    ("storage.k8s.io", "StorageClass"): _read_storage_class,
    ("", "PersistentVolumeClaim"): _read_claim,
    ("", "Secret"): _read_keys("data", "stringData"),
    ("bitnami.com", "SealedSecret"): _read_sealed_secret,
    ("external-secrets.io", "ExternalSecret"): _read_external_secret,
    ("", "ConfigMap"): _read_keys("data", "binaryData"),
    ("", "ServiceAccount"): _read_account,
}
OBJECT_KINDS = (*(kind for _, kind in _READERS), _DEPLOYMENT)
