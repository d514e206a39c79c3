"""docs/corpus.md against the manifests that it judges, where they are at hand: `make corpus CORPUS=DIR`.

Each manifest is checked, lowered, imported, and rendered again from what was imported. The program fails
where podplan does, where a manifest neither lowers nor has an error, where the way through import changes a
CR, where a finding has no verdict or too many are false, and where the page does not say what podplan says
now. `--write` brings the page up to date; the sentences that people wrote stay as they are.
"""

from __future__ import annotations

import csv
import difflib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from click.testing import CliRunner

from podplan.cli.commands import podplan
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.yaml.writer import emit_document
from tests import corpus_verdicts

PAGE = Path(__file__).parent.parent / "docs" / "corpus.md"
DEFAULT = Path(__file__).parent.parent.parent / "shared" / "corpus"
INDEX = "INDEX.tsv"
LOWERED = ("GenericJob", "PyTorchTrainingJob", "DeepSpeedJob", "ColossalAIJob")
# The revision at which each repository was read; where there is none, the newest.
REVISIONS = {
    "t9k/user-manuals": "fbf6b3c",
    "t9k/ucman": "d21c640",
    "t9k/user-docs": "5e5ad83",
    "t9k/tutorial-examples": "ca98fa4",
    "t9k/examples": "2ee1f56",
}
SERVER_SET = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
CHECK = ("check", "--isolated", "--exit-zero", "--format", "json")
EXACT, REPAIRED, CHANGED, REFUSED = "exact", "repaired", "changed", "refused"
ROW = re.compile(r"\| \[(?P<id>\w+/\d+)\]")
BLOCK = "<!-- {} -->\n"
END = "<!-- end -->\n"

Data = dict[str, Any]


class Manifest(NamedTuple):
    """A line of the index: the file, and where it was found."""

    file: str
    repository: str
    path: str
    kind: str
    dialect: str

    @property
    def id(self) -> str:
        """The kind and the number, such as GenericJob/001."""
        return self.file.partition("-")[0]


class Seen(NamedTuple):
    """What podplan makes of a manifest.

    ``objects`` counts what it lowers to by kind, ``findings`` are as in the JSON of `podplan check`,
    ``imported`` is how it comes through import and render, and ``faults`` is what may not be, in words.
    """

    manifest: Manifest
    objects: Mapping[str, int] = {}
    findings: Sequence[Data] = ()
    imported: str = ""
    faults: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether reading or the schemas refuse it: what policies say keeps no CR from being lowered."""
        return any(found["severity"] == "error" and found["rule"] in BUILTIN_RULES for found in self.findings)


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def run(*arguments: str | Path, stdin: str = "") -> Ran:
    """A podplan command, in this process; what would be exit 2 to 4 is raised, as it is."""
    done = CliRunner().invoke(podplan, [*map(str, arguments)], input=stdin, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return Ran(done.return_value or 0, done.stdout, done.stderr)


def index(folder: Path) -> list[Manifest]:
    """The manifests of a folder as its index lists them; raises OSError where there is none."""
    with (folder / INDEX).open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return [Manifest(*(row[field] for field in Manifest._fields)) for row in rows]


def look(folder: Path, manifest: Manifest) -> Seen:
    """What podplan makes of one manifest; a crash or a bound that is reached is a fault like others."""
    try:
        return _look(folder / manifest.file, manifest)
    except Exception as error:
        return Seen(manifest, faults=(f"{type(error).__name__}: {error}",))


def _look(path: Path, manifest: Manifest) -> Seen:
    checked = run(*CHECK, path)
    findings = json.loads(checked.out)["findings"]
    lowered = run("lower", path, "--isolated", "--fail-on", "never")
    objects = Counter(found["kind"] for found in yaml.safe_load_all(lowered.out))
    seen = Seen(manifest, objects, findings)
    if manifest.kind not in LOWERED:
        return seen
    faults = [] if objects or seen.refused else ["neither lowers nor has an error"]
    imported, difference = round_trip(path)
    if difference and not malformed(findings):
        faults.append(f"import and render change it: {difference}")
    return seen._replace(imported=imported, faults=tuple(faults))


def round_trip(path: Path) -> tuple[str, str]:
    """How a CR comes through import and render, and the first line that became other than it was."""
    profile = run("import", path)
    if not profile.out:
        return REFUSED, ""
    again = run("render", "-", "--isolated", "--fail-on", "never", stdin=profile.out)
    before, after = as_applied(yaml.safe_load(path.read_text(encoding="utf-8"))), yaml.safe_load(again.out)
    difference = first_difference(before, after)
    if difference:
        checked = run(*CHECK, "-", stdin=emit_document(after))
        accepted = not malformed(json.loads(checked.out)["findings"])
        return (REPAIRED, "") if profile.err and accepted else (CHANGED, difference)
    overrides = yaml.safe_load(profile.out)["spec"].get("override", [])
    fields = ", ".join(sorted({field for entry in overrides for field in entry["spec"]}))
    return f"override of {fields}" if fields else EXACT, ""


def malformed(findings: Iterable[Data]) -> bool:
    """Whether the API server would refuse what was found, or drop some of it."""
    return any(found["rule"].startswith("SCHEMA") for found in findings)


def as_applied(cr: Data) -> Data:
    """A CR without its status and without what the server sets in its metadata."""
    metadata = {key: value for key, value in cr.get("metadata", {}).items() if key not in SERVER_SET}
    return {**{key: value for key, value in cr.items() if key != "status"}, "metadata": metadata}


def first_difference(before: Any, after: Any) -> str:
    """The first line in which two documents differ as data, "" where they do not."""
    left, right = (json.dumps(data, indent=1, sort_keys=True).splitlines() for data in (before, after))
    return next((line for line in difflib.ndiff(left, right) if line[0] in "+-"), "")


# --- the page


def counted(count: int, kind: str) -> str:
    """A number of things, such as "1 Pod" and "4 Pods"."""
    return f"{count} {kind}" if count == 1 else f"{count} {kind}s"


def places(findings: Iterable[Data]) -> str:
    """The codes and lines of findings, such as "SCHEMA003:11 ×2, YAML002:54"."""
    counts = Counter(f"{found['rule']}:{found['line']}" for found in findings)
    return ", ".join(place if count == 1 else f"{place} ×{count}" for place, count in counts.items()) or "–"


def cells(seen: Seen) -> list[str]:
    """The cells of a row that podplan fills: manifest, lowered, imported, findings."""
    kinds = sorted(seen.objects, key=lambda kind: (kind != "Pod", kind))
    made = ", ".join(counted(seen.objects[kind], kind) for kind in kinds) or "no"
    if seen.refused and seen.objects:
        made += ", refused"
    return [link(seen.manifest), made, seen.imported, places(seen.findings)]


def link(manifest: Manifest) -> str:
    """The manifest as a link to where it was found."""
    revision = REVISIONS.get(manifest.repository, "HEAD")
    return f"[{manifest.id}](https://github.com/{manifest.repository}/blob/{revision}/{manifest.path})"


def rewritten(page: str, seen: Sequence[Seen]) -> str:
    """The page with what podplan says now in it, and the sentences of people as they were."""
    rows = {one.manifest.id: one for one in seen if one.manifest.kind in LOWERED}
    lines = []
    for line in page.splitlines(keepends=True):
        found = ROW.match(line)
        if found and found["id"] in rows:
            line = f"| {' | '.join([*cells(rows[found['id']]), sentence(line)])} |\n"
        lines.append(line)
    text = "".join(lines)
    text = block(text, "summary", summary(seen))
    text = block(text, "verdicts", corpus_verdicts.table(text, by_id(seen)))
    return block(text, "others", others(seen))


def by_id(seen: Iterable[Seen]) -> dict[str, Sequence[Data]]:
    """The findings of each manifest."""
    return {one.manifest.id: one.findings for one in seen}


def sentence(row: str) -> str:
    """The last cell of a row: what somebody wrote."""
    return row.rstrip().removesuffix("|").rpartition(" | ")[2].strip()


def block(page: str, name: str, lines: Iterable[str]) -> str:
    """The page with other lines between the marks of a block."""
    before, start, rest = page.partition(BLOCK.format(name))
    _, end, after = rest.partition(END)
    written = "".join(f"{line}\n" for line in lines)
    return f"{before}{start}{written}{end}{after}" if end else page


def summary(seen: Iterable[Seen]) -> Iterator[str]:
    """One line per kind and dialect, and their sum."""
    yield "| kind | manifests | lowered | refused | imported | with an override |"
    yield "|---|---|---|---|---|---|"
    total = [0] * 5
    for kind, group in by_kind(one for one in seen if one.manifest.kind in LOWERED).items():
        imported = [one.imported for one in group if one.imported not in (CHANGED, REFUSED)]
        counts = [
            len(group),
            sum(bool(one.objects) and not one.refused for one in group),
            sum(one.refused for one in group),
            len(imported),
            sum("override" in how for how in imported),
        ]
        total = [a + b for a, b in zip(total, counts, strict=True)]
        yield f"| {kind} | {' | '.join(map(str, counts))} |"
    yield f"| all | {' | '.join(map(str, total))} |"


def by_kind(seen: Iterable[Seen]) -> dict[str, list[Seen]]:
    """Manifests by kind, and by dialect where a kind has two."""
    groups: dict[str, list[Seen]] = {}
    for one in seen:
        kind, dialect = one.manifest.kind, one.manifest.dialect
        groups.setdefault(kind if dialect == "-" else f"{kind}, {dialect}", []).append(one)
    return groups


def others(seen: Iterable[Seen]) -> Iterator[str]:
    """The manifests of the kinds that are not lowered yet: how many have which findings."""
    yield "| kind | manifests | findings |"
    yield "|---|---|---|"
    groups = Counter(
        (one.manifest.kind, places(one.findings)) for one in seen if one.manifest.kind not in LOWERED
    )
    for (kind, found), count in groups.items():
        yield f"| {kind} | {count} | {found} |"


# --- the program


def faults(page: str, seen: Sequence[Seen]) -> Iterator[str]:
    """What podplan or the page may not be like, in words."""
    judged = {found["id"]: sentence(line) for line in page.splitlines() if (found := ROW.match(line))}
    ids = {one.manifest.id for one in seen if one.manifest.kind in LOWERED}
    for one in seen:
        yield from (f"{one.manifest.file}: {fault}" for fault in one.faults)
    yield from (f"{PAGE.name} has no row for {missing}" for missing in sorted(ids - judged.keys()))
    yield from (f"{PAGE.name} has a row for {gone}, and no manifest" for gone in sorted(judged.keys() - ids))
    yield from (f"{PAGE.name} says nothing about {empty}" for empty, said in judged.items() if not said)
    yield from (f"{PAGE.name}: {fault}" for fault in corpus_verdicts.faults(page, by_id(seen)))


def main(arguments: list[str]) -> int:
    """Looks at every manifest of a folder; 1 where something is not as it should be, 3 without manifests."""
    folders = [Path(argument) for argument in arguments if argument != "--write"]
    folder = folders[0] if folders else DEFAULT
    try:
        manifests = index(folder)
    except OSError:
        print(f"{folder} has no {INDEX}: nothing to check; make corpus CORPUS=DIR", file=sys.stderr)
        return 3
    seen = [look(folder, manifest) for manifest in manifests]
    page = PAGE.read_text(encoding="utf-8")
    now = rewritten(page, seen)
    if "--write" in arguments and now != page:
        PAGE.write_text(now, encoding="utf-8")
        page = now
    said = [*faults(page, seen), *difference(page, now)]
    print("\n".join([*said, f"{len(seen)} manifests; {len(said)} lines to look at"]))
    return 1 if said else 0


def difference(page: str, now: str) -> list[str]:
    """The lines of the page that are not what podplan says now."""
    before, after = page.splitlines(), now.splitlines()
    return list(difflib.unified_diff(before, after, PAGE.name, "now", lineterm="", n=0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
