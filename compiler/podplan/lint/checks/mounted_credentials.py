"""Credentials in ConfigMaps of the repository that a job uses.

Source: https://kubernetes.io/docs/concepts/configuration/configmap/ (a ConfigMap provides no secrecy).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.cross_job import RebuildJob
from podplan.lint.analysis.jobs import namespace_of
from podplan.lint.checks.references import ObjectReference, iter_references
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation
from podplan.redaction.detection import find_command_secrets, is_secret

_MOST_TEXT = 100_000  # characters of a value that is read
_CERTAIN = ("a private key", "an access token")
# A generated value, and not a word, an expression of a script, or the example of a manual.
_GENERATED = compile_lazily(r"(?=(?:[^0-9]*[0-9]){3})(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=]{16,}")
_EXAMPLE = compile_lazily(r"(?i:example|changeme|placeholder|replace|your|dummy|xxxx|0{8})")


class ConfigMapSummary(NamedTuple):
    """The ConfigMaps that a job uses, or one with credentials: its keys, and what each of them holds."""

    namespace: str
    names: tuple[str, ...]
    found: tuple[tuple[str, str], ...] = ()

    @property
    def keys(self) -> list[Hashable]:
        return [(self.namespace, name) for name in self.names]

    @property
    def owner(self) -> Hashable:
        return "config" if self.found else "job"


def summarize_credentials(job: LoweredJob) -> ConfigMapSummary | None:
    """Summarize a job by its ConfigMaps, a ConfigMap by its credentials."""
    if job.cr is not None:
        names = dict.fromkeys(reference.name for reference, _ in _iter_config_maps(job))
        return ConfigMapSummary(namespace_of(job), tuple(names)) if names else None
    data = job.groups[0].doc.data
    if get_text(data, "kind") != "ConfigMap":
        return None
    metadata = get_mapping(data, "metadata")
    found = tuple(
        (str(key), what)
        for key, text in get_mapping(data, "data").items()
        if isinstance(text, str) and len(text) <= _MOST_TEXT and (what := _find_credential(str(key), text))
    )
    name = get_text(metadata, "name")
    return ConfigMapSummary(get_text(metadata, "namespace"), (name,), found) if found else None


def _find_credential(key: str, text: str) -> str:
    """Return what a value of a ConfigMap certainly has; "" if it may have no credential."""
    value = text.strip()
    if "\n" not in value and is_secret(key, value) and _is_generated(value):
        return f"the value of {key}"
    for exposure in find_command_secrets([text]):
        shown = text[slice(*exposure.span)]
        is_key = exposure.what in _CERTAIN and not _EXAMPLE.search(shown)
        if is_key or (exposure.what.startswith("the value of ") and _is_generated(shown)):
            return exposure.what
    return ""


def _is_generated(value: str) -> bool:
    return _GENERATED.fullmatch(value) is not None and _EXAMPLE.search(value) is None


def _iter_config_maps(job: LoweredJob) -> Iterator[tuple[ObjectReference, TracedDocument]]:
    for group in job.pods:
        for reference in iter_references(group):
            if reference.kind == "ConfigMap":
                yield reference, group.doc


@check(summarize=summarize_credentials)
def credentials_in_config_map(
    summaries: Mapping[int, ConfigMapSummary], rebuild_job: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A ConfigMap with a credential that a job uses. Values: ``name``, ``key``, ``what``."""
    configs = {
        (one.namespace, one.names[0]): (number, one.found) for number, one in summaries.items() if one.found
    }
    for number, one in summaries.items():
        used = [name for name in one.names if (one.namespace, name) in configs] if not one.found else []
        for name in used:
            config_number, found = configs[one.namespace, name]
            job, config = rebuild_job(number), rebuild_job(config_number).groups[0].doc
            reference, doc = next(each for each in _iter_config_maps(job) if each[0].name == name)
            key, what = found[0]
            place: Path = ("data", key)
            related = [(config, place, "the credential"), (config, ("metadata", "name"), "the ConfigMap")]
            values = {"name": name, "key": key, "what": what}
            yield number, Violation(reference.path, values, related, doc=doc)
