"""What grows while files are checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from podplan.checking.again import Again, Origin
from podplan.checking.before import Before
from podplan.checking.together import Together
from podplan.findings import Finding, Location
from podplan.limits import MAX_OBJECTS, BoundExceeded, beyond
from podplan.lint.silences import Silences
from podplan.pipeline import Settings
from podplan.reading import Reader
from podplan.typing import TypeVar

Something = TypeVar("Something")


class Run:
    """What grows while files are checked: counts, findings, and what jobs leave for policies about all.

    It grows with what there is to say, and little with what there is: of a document only the text stays.
    """

    def __init__(self, settings: Settings, reader: Reader, before: Before | None = None) -> None:
        self.settings = settings
        self.reader = reader
        self.before = before
        self.counts: Counter[str] = Counter()
        self.not_checked: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self.texts: dict[str, str] = {}
        self.silences = Silences(settings.policies, settings.terms)
        self.again = Again(settings, reader, before)
        self.together = Together(self.silences.terms.known, self.again)
        self.shared: set[str] = set()  # files that others refer to
        self.unlowered: set[str] = set()
        self.secret: set[str] = set()  # files of which no line is shown
        self.secrets: list[Location] = []  # what is shown as stars, whichever rules are on
        self.given_up: list[str] = []
        self.files: set[str] = set()
        self.rendered: list[tuple[Origin, str]] = []  # with the real paths of their sources
        self.without_base: set[str] = set()  # rules that were not evaluated, since nothing was before


def count_object(run: Run, file: str, number: int = 1) -> None:
    """One more CR or Kubernetes object, which came of ``file``. Raises BoundExceeded."""
    run.counts["objects"] += number
    if run.counts["objects"] > MAX_OBJECTS:
        message = (
            f"there are more than {MAX_OBJECTS:,} objects, the last in {file}; check fewer files at once"
        )
        raise BoundExceeded(beyond("objects", message))


def as_far_as_bounds(found: Iterable[Something], run: Run) -> Iterator[Something]:
    """What there is until a bound is reached, which is noted, so that the other files get their turn."""
    try:
        yield from found
    except BoundExceeded as error:
        run.given_up.append(str(error))
