"""What grows while files are checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from podplan.checker.base_revision import Before
from podplan.checker.cross_job_index import Together
from podplan.checker.packed_store import Origin
from podplan.checker.rebuild import Again, Reread, SettingsOf
from podplan.core.findings import Finding
from podplan.core.limits import MAX_OBJECTS, BoundExceeded, beyond
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar
from podplan.lint.suppression_tracker import Silences
from podplan.pipeline import Settings
from podplan.workspace import Reader
from podplan.yaml import Source, find_secret_spans

if TYPE_CHECKING:
    from podplan.redaction.redactor import Redactor

Something = TypeVar("Something")


class GivenUp(NamedTuple):
    """A bound that was reached: by which file, "" for none or several, and what is said of it."""

    file: str
    sentence: str


class Gathered:
    """Plain data that grows with what there is to say, and little with what there is."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.not_checked: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self.texts: dict[str, str] = {}
        self.shared: set[str] = set()  # files that others refer to
        self.unlowered: set[str] = set()
        self.secret: set[str] = set()  # files of which no line is shown
        self.secret_spans: dict[str, list[tuple[int, int]]] = {}  # where the others hold secrets, by file
        self.secret_values: dict[str, frozenset[str]] = {}  # the secrets of jobs with findings there, by file
        self.given_up: list[GivenUp] = []
        self.beyond: list[str] = []  # what is said of files that reach a bound when they are read
        self.unread: set[str] = set()
        self.unreadable_folders: list[str] = []
        self.rendered: list[tuple[Origin, str]] = []  # with the real paths of their sources
        self.without_base: set[str] = set()  # rules that were not evaluated, since nothing was before

    def show(self, source: Source) -> None:
        """Keeps the text of a file for reports, and what of it they must not show."""
        if source.file in self.texts:
            return
        self.texts[source.file] = source.text
        if source.holds_secret:
            self.secret.add(source.file)
        else:
            self.secret_spans[source.file] = find_secret_spans(source)

    def hide(self, findings: Iterable[Finding], secrets: Callable[[], Redactor | None]) -> None:
        """Keeps the secrets of a job, so that no line that ``findings`` about it show has them."""
        files = {file for found in findings for file in files_of(found)}
        if files and (redactor := secrets()):
            for file in files:
                self.secret_values[file] = self.secret_values.get(file, frozenset()) | redactor.values

    def add(self, others: Gathered) -> None:
        """What was gathered of the files that come next."""
        hidden = self.secret_values
        for name, theirs in vars(others).items():
            mine: Any = getattr(self, name)
            if mine is hidden:
                for file, values in theirs.items():
                    hidden[file] = hidden.get(file, frozenset()) | values
            elif isinstance(mine, list):
                mine.extend(theirs)
            else:
                mine.update(theirs)


def files_of(found: Finding) -> set[str]:
    """The files whose lines a report of a finding may show."""
    edits = found.fix.edits if found.fix is not None else ()
    places = (found.location.file, *(one.location.file for one in found.related))
    return {*places, *(edit.file for edit in edits)}


def _not_again(file: str) -> NoReturn:
    raise LookupError(f"{file} is kept whole, and not read again")


class Run(Gathered):
    """What is gathered of files, how they are checked, and what their jobs leave for policies about all."""

    def __init__(
        self,
        settings: Settings,
        reader: Reader,
        before: Before | None = None,
        reread: Reread = _not_again,
        settings_of: SettingsOf | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings
        self.reader = reader
        self.before = before
        self.silences = Silences(settings.policies, settings.terms)
        self.again = Again(settings_of or (lambda _: settings), reader, before, reread)
        terms = self.silences.terms
        self.together = Together(terms.known if terms.asks_policies else (), self.again)

    def gathered(self) -> Gathered:
        """What was gathered so far, without anything else."""
        plain = Gathered()
        for name in vars(plain):
            setattr(plain, name, getattr(self, name))
        return plain


def count_object(run: Run, file: str, number: int = 1) -> None:
    """One more CR or Kubernetes object, which came of ``file``. Raises BoundExceeded."""
    run.counts["objects"] += number
    if run.counts["objects"] > MAX_OBJECTS:
        message = (
            f"there are more than {MAX_OBJECTS:,} objects, the last in {file}; check fewer files at once"
        )
        raise BoundExceeded(beyond("objects", message), file)


def as_far_as_bounds(found: Iterable[Something], run: Run, file: str = "") -> Iterator[Something]:
    """What there is until a bound is reached, which is noted, so that the other files get their turn.

    ``file`` is what it is about.
    """
    try:
        yield from found
    except BoundExceeded as error:
        reached = error.in_file(file)
        run.given_up.append(GivenUp(reached.file, str(reached)))
