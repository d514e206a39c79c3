"""Documents of other kinds that create jobs, such as a workflow: what they state of these."""

from __future__ import annotations

from podplan.core.findings import Diagnostic
from podplan.core.provenance import attribute_to, build_traced_document, root_cursor
from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.registry import load_embedding_module
from podplan.workspace.documents import ClassifiedDocument

if TYPE_CHECKING:
    from types import ModuleType


def creates_jobs(item: ClassifiedDocument) -> bool:
    """Whether a document is of another kind and creates jobs, such as a workflow."""
    return _load_embedding(item) is not None


def find_embedded_job(item: ClassifiedDocument) -> ClassifiedDocument | None:
    """Return the job that a document states as a field, as a CR whose name begins with that of the document;
    None if there is none."""
    embedding, root = _load_embedding(item), root_cursor(item.doc)
    for field, job_kind in embedding.JOB_FIELDS.items() if embedding is not None else ():
        section = root.get("spec", field)
        if isinstance(section.get("spec").value, dict):
            name, namespace = (root.get("metadata", key) for key in ("name", "namespace"))
            own = section.get("metadata")
            prefix = attribute_to(name if name.exists else root, f"{name.value_or('')}-")
            tree = {
                "apiVersion": attribute_to(root.get("apiVersion"), root.get("apiVersion").value),
                "kind": attribute_to(section, job_kind),
                "metadata": attribute_to(
                    root.get("metadata") if root.get("metadata").exists else root,
                    {
                        "generateName": prefix,
                        **({"namespace": namespace} if namespace.exists else {}),
                        **{key: own.get(key) for key in ("labels", "annotations") if own.get(key).exists},
                    },
                ),
                "spec": section.get("spec"),
            }
            return ClassifiedDocument("cr", build_traced_document(attribute_to(root, tree), item.doc.name))
    return None


def validate_embedding(item: ClassifiedDocument) -> list[Diagnostic]:
    """Return what is wrong with a document that creates jobs, apart from a job that it states as a field."""
    embedding = _load_embedding(item)
    return list(embedding.validate(item.doc.data)) if embedding is not None else []


def _load_embedding(item: ClassifiedDocument) -> ModuleType | None:
    data = item.doc.data
    if item.category != "other" or not isinstance(data, dict):
        return None
    return load_embedding_module(data.get("apiVersion"), data.get("kind"))
