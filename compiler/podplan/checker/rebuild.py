"""Rebuilds jobs from the text of their file, which is possible because the pipeline is pure.

So a run keeps only the source of a job. A file that has changed since it was first read is rejected, because
earlier findings may not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from podplan.checker.config_maps import inline_config_maps
from podplan.checker.packed_store import JobSource
from podplan.core.limits import LimitExceeded
from podplan.core.replay import Replay
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import TYPE_CHECKING
from podplan.lint.target import LoweredJob
from podplan.pipeline import JobPlan, PipelineSettings, build_references, iter_job_plans
from podplan.workspace.documents import ClassifiedDocument
from podplan.workspace.file_loader import build_changed_error
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

if TYPE_CHECKING:
    from podplan.checker.base_revision import BaseCrs

# Reads a file again, by name.
RereadFile = Callable[[str], SourceFile]
# The settings for a document, by its source.
SettingsOf = Callable[[JobSource], PipelineSettings]
MOST_JOBS = 32  # cached: jobs that others refer to, and those that are compared in order
MOST_ITEMS = 4  # documents whose jobs are being rebuilt in order
MOST_FILES = 4  # cached, whatever their size
MOST_TEXT = 1024 * 1024  # characters of all cached files


class JobRebuilder:
    """Rebuilds documents and jobs by their source.

    Jobs are mostly requested in order, except for a few that several others refer to. So the next job of a
    document continues where the last one stopped, and the last few of all are cached.
    """

    def __init__(
        self, settings_of: SettingsOf, reader: Loader, base_crs: BaseCrs | None, reread_file: RereadFile
    ) -> None:
        self._settings_of, self._reader, self._base_crs, self._reread_file = (
            settings_of,
            reader,
            base_crs,
            reread_file,
        )
        self._jobs: dict[JobSource, LoweredJob] = {}
        self._replay = Replay(self._rebuild_jobs_cached, MOST_ITEMS)
        self._files: dict[JobSource, tuple[str, tuple[ClassifiedDocument, ...]]] = {}
        self._room = MOST_TEXT
        self._texts: dict[str, str] = {}

    def get_texts(self, files: Iterable[str]) -> dict[str, str]:
        """Return the texts of those of ``files`` that jobs were rebuilt from."""
        return {file: self._texts[file] for file in files if file in self._texts}

    def get_item(self, job_source: JobSource) -> tuple[ClassifiedDocument, str]:
        """Return a document of a file, and the text of the file.

        Raises UsageError: if the file has changed.
        """
        text, file_items = self._read_items(job_source._replace(item_index=0, job_index=0))
        return file_items[job_source.item_index], text

    def get_job(self, job_source: JobSource) -> LoweredJob:
        """Rebuild the job. Raises UsageError: if its file has changed."""
        if job_source in self._jobs:
            job = self._jobs.pop(job_source)
        else:
            job = self._replay.element(job_source._replace(job_index=0), job_source.job_index)
        self._jobs[job_source] = job
        if len(self._jobs) > MOST_JOBS:
            del self._jobs[next(iter(self._jobs))]
        return job

    def _rebuild_jobs_cached(self, origin: JobSource) -> Iterator[LoweredJob]:
        item, text = self.get_item(origin)
        self._texts[origin.file] = text
        settings = self._settings_of(origin)
        if item.category not in ("profile", "cr"):
            yield build_object_job(item, settings)
            return
        with suppress(LimitExceeded):  # it was reported the first time
            for plan in iter_job_plans(item, settings, self._reader):
                if plan.is_lowered:
                    inlined = inline_config_maps(plan, self._reader)
                    yield build_lowered_job(inlined, settings, self._base_crs, self._reader)

    def _read_items(self, job_source: JobSource) -> tuple[str, tuple[ClassifiedDocument, ...]]:
        """Return the text and the documents of a file; the last files are cached."""
        there = self._files.pop(job_source, None)
        if there is None:
            source = self._reread_file(job_source.file)
            if job_source.text_hash is not None and hash(source.text) != job_source.text_hash:
                raise build_changed_error(job_source.file)
            there = source.text, tuple(self._reader.classify(source))
            self._room -= len(source.text)
        self._files[job_source] = there
        while self._room < 0 and len(self._files) > MOST_FILES:
            self._room += len(self._files.pop(next(iter(self._files)))[0])
        return there


def build_lowered_job(
    plan: JobPlan, settings: PipelineSettings, base_crs: BaseCrs | None, reader: Loader | None = None
) -> LoweredJob:
    """Build the view of policies on a plan, with its CR in the base revision, and the cluster that
    ``reader`` finds."""
    base_cr = None
    if base_crs is not None:
        from podplan.checker.base_revision import find_base_cr

        base_cr = find_base_cr(plan, base_crs)
    inventory, version, gitops = plan.inventory, settings.kubernetes_version, settings.gitops_tool
    return LoweredJob(
        plan.cr,
        plan.replica_groups,
        plan.profile,
        inventory,
        version,
        gitops,
        base_crs is not None,
        base_cr,
        plan.item.declared_kind,
        reader.find_cluster(plan.item.doc.name, settings.cluster_paths) if reader is not None else None,
        build_references(plan.references),
        plan.lowering_options,
    )


def build_object_job(item: ClassifiedDocument, settings: PipelineSettings) -> LoweredJob:
    """Build the view of policies on a Kubernetes object."""
    return LoweredJob(
        None,
        (ReplicaGroup(item.doc),),
        kubernetes_version=settings.kubernetes_version,
        gitops_tool=settings.gitops_tool,
    )
