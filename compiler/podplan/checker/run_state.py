"""The data that a run collects while files are checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator

from podplan.checker.cross_job_index import CrossJobIndex
from podplan.checker.packed_store import JobSource
from podplan.checker.rebuild import JobRebuilder, RereadFile, SettingsOf
from podplan.core.findings import Finding
from podplan.core.limits import MAX_OBJECTS, LimitExceeded, limit_exceeded
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar
from podplan.lint.suppression_tracker import SuppressionTracker
from podplan.pipeline import PipelineSettings
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile, find_secret_spans

if TYPE_CHECKING:
    from podplan.checker.base_revision import BaseCrs
    from podplan.redaction.redactor import Redactor

Element = TypeVar("Element")


class LimitHit(NamedTuple):
    """An exceeded limit: the file, "" for none or several, and the message."""

    file: str
    message: str


class RunData:
    """Plain data that grows with the number of findings, not of files."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.not_checked: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self.texts: dict[str, str] = {}
        self.shared_files: set[str] = set()  # files that others refer to
        self.unlowered_files: set[str] = set()
        self.secret_files: set[str] = set()  # files of which no line may be shown
        self.secret_spans: dict[str, list[tuple[int, int]]] = {}  # ranges of secrets in the others, by file
        self.secret_values: dict[str, frozenset[str]] = {}  # secrets of jobs with findings there, by file
        self.limit_hits: list[LimitHit] = []
        self.read_limit_messages: list[
            str
        ] = []  # messages about files that exceed a limit when they are read
        self.unread_files: set[str] = set()
        self.unreadable_folders: list[str] = []
        self.rendered_crs: list[tuple[JobSource, str]] = []  # with the real paths of their sources
        self.rules_without_base: set[str] = set()  # not evaluated: there is no base revision

    def store_text(self, source: SourceFile) -> None:
        """Store the text of a file for reports, and the ranges to redact."""
        if source.file in self.texts:
            return
        self.texts[source.file] = source.text
        if source.has_secret:
            self.secret_files.add(source.file)
        else:
            self.secret_spans[source.file] = find_secret_spans(source)

    def store_secrets(self, findings: Iterable[Finding], get_redactor: Callable[[], Redactor | None]) -> None:
        """Store the secrets of a job, so that they are redacted in the lines that ``findings`` about it
        show."""
        files = {file for finding in findings for file in find_shown_files(finding)}
        if files and (redactor := get_redactor()):
            for file in files:
                self.secret_values[file] = self.secret_values.get(file, frozenset()) | redactor.values

    def merge(self, other: RunData) -> None:
        """Merge the data of the files that follow."""
        secret_values = self.secret_values
        for name, other_value in vars(other).items():
            own_value: Any = getattr(self, name)
            if own_value is secret_values:
                for file, values in other_value.items():
                    secret_values[file] = secret_values.get(file, frozenset()) | values
            elif isinstance(own_value, list):
                own_value.extend(other_value)
            else:
                own_value.update(other_value)


def find_shown_files(finding: Finding) -> set[str]:
    """Return the files whose lines a report of a finding may show."""
    edits = finding.fix.edits if finding.fix is not None else ()
    finding_files = (finding.location.file, *(one.location.file for one in finding.related))
    return {*finding_files, *(edit.file for edit in edits)}


def _refuse_reread(file: str) -> NoReturn:
    raise LookupError(f"{file} is kept whole, and not read again")


class CheckRun(RunData):
    """The data of a run, its settings, and the job summaries for cross-job policies.

    If ``changed_files`` (real paths) is given, policies are evaluated only for files that depend on them.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        reader: Loader,
        base_crs: BaseCrs | None = None,
        reread_file: RereadFile = _refuse_reread,
        settings_of: SettingsOf | None = None,
        changed_files: Collection[str] | None = None,
    ) -> None:
        super().__init__()
        self.changed_files = changed_files
        self.settings = settings
        self.reader = reader
        self.base_crs = base_crs
        self.suppression_tracker = SuppressionTracker(settings.policies, settings.lint_config)
        self.rebuilder = JobRebuilder(settings_of or (lambda _: settings), reader, base_crs, reread_file)
        terms = self.suppression_tracker.config
        self.cross_job_index = CrossJobIndex(
            terms.all_policies if terms.policies_enabled else (), self.rebuilder
        )

    def add_findings(self, file: str, findings: Iterable[Finding]) -> bool:
        """Add findings about a file, with the severities for that file, and without rules that are disabled
        for it.

        Return whether any remain.
        """
        graded_findings = self.suppression_tracker.apply_severities(file, findings)
        self.findings += (found._replace(subject_files=(file,)) for found in graded_findings)
        return bool(graded_findings)

    def export_data(self) -> RunData:
        """Return only the data, to be merged into another run."""
        run_data = RunData()
        for name in vars(run_data):
            setattr(run_data, name, getattr(self, name))
        return run_data


def count_objects(run: CheckRun, file: str, number: int = 1) -> None:
    """Count CRs or Kubernetes objects from ``file``. Raises LimitExceeded: if there are too many."""
    run.counts["objects"] += number
    if run.counts["objects"] > MAX_OBJECTS:
        message = (
            f"there are more than {MAX_OBJECTS:,} objects, the last in {file}; check fewer files at once"
        )
        raise LimitExceeded(limit_exceeded("objects", message), file)


def iter_until_limit(elements: Iterable[Element], run: CheckRun, file: str = "") -> Iterator[Element]:
    """Yield elements until a limit is exceeded, which is recorded, so that other files are still checked.

    ``file`` is the file that the limit is about.
    """
    try:
        yield from elements
    except LimitExceeded as error:
        located_error = error.with_file(file)
        run.limit_hits.append(LimitHit(located_error.file, str(located_error)))
