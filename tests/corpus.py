"""Compares docs/corpus.md with the manifests that it judges, if they are available: `make corpus CORPUS=DIR`.

Each manifest is checked, lowered, imported, and rendered again from the imported profile. The program fails
if podplan fails, if a manifest neither lowers nor has an error, if the import round trip changes a CR, if a
finding has no verdict or too many are false, and if the page differs from the current results. `--write`
updates the page; sentences written by people stay.
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
# The kinds of which each manifest has a row.
JUDGED = ("GenericJob", "PyTorchTrainingJob", "DeepSpeedJob", "ColossalAIJob")
# The revision at which each repository was read; the newest if there is none.
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
    """The results for a manifest.

    ``objects`` counts its lowered objects by kind, ``findings`` are as in the JSON of `podplan check`,
    ``imported`` is the result of import and render, and ``faults`` are sentences about errors.
    """

    manifest: Manifest
    objects: Mapping[str, int] = {}
    findings: Sequence[Data] = ()
    imported: str = ""
    faults: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the parser or the schemas reject it: findings of policies do not prevent lowering."""
        return any(found["severity"] == "error" and found["rule"] in BUILTIN_RULES for found in self.findings)


class Ran(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


def run(*arguments: str | Path, stdin: str = "") -> Ran:
    """Run a podplan command in this process; exit codes 2 to 4 are raised as exceptions."""
    done = CliRunner().invoke(podplan, [*map(str, arguments)], input=stdin, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return Ran(done.return_value or 0, done.stdout, done.stderr)


def index(folder: Path) -> list[Manifest]:
    """Return the manifests in the index of a folder. Raises OSError: if there is none."""
    with (folder / INDEX).open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return [Manifest(*(row[field] for field in Manifest._fields)) for row in rows]


def look(folder: Path, manifest: Manifest) -> Seen:
    """Return the results for one manifest; a crash or an exceeded limit is one of the faults."""
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
    if manifest.kind not in JUDGED:
        return seen
    faults = [] if objects or seen.refused else ["neither lowers nor has an error"]
    imported, difference = round_trip(path)
    if difference and not malformed(findings):
        faults.append(f"import and render change it: {difference}")
    return seen._replace(imported=imported, faults=tuple(faults))


def round_trip(path: Path) -> tuple[str, str]:
    """Return the result of importing and rendering a CR, and the first line that changed."""
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
    """Whether the API server would reject the object for one of the findings, or drop a part of it."""
    return any(found["rule"].startswith("SCHEMA") for found in findings)


def as_applied(cr: Data) -> Data:
    """Return a CR without its status and without metadata that the server sets."""
    metadata = {key: value for key, value in cr.get("metadata", {}).items() if key not in SERVER_SET}
    return {**{key: value for key, value in cr.items() if key != "status"}, "metadata": metadata}


def first_difference(before: Any, after: Any) -> str:
    """Return the first line in which two documents differ as data, or ""."""
    left, right = (json.dumps(data, indent=1, sort_keys=True).splitlines() for data in (before, after))
    return next((line for line in difflib.ndiff(left, right) if line[0] in "+-"), "")


# --- the page


def counted(count: int, kind: str) -> str:
    """Format a number of things, such as "1 Pod" and "4 Pods"."""
    return f"{count} {kind}" if count == 1 else f"{count} {kind}s"


def places(findings: Iterable[Data]) -> str:
    """Format codes and lines of findings, such as "SCHEMA003:11 ×2, YAML002:54"."""
    counts = Counter(f"{found['rule']}:{found['line']}" for found in findings)
    return ", ".join(place if count == 1 else f"{place} ×{count}" for place, count in counts.items()) or "–"


def cells(seen: Seen) -> list[str]:
    """Return the generated cells of a row: manifest, lowered, imported, findings."""
    kinds = sorted(seen.objects, key=lambda kind: (kind != "Pod", kind))
    made = ", ".join(counted(seen.objects[kind], kind) for kind in kinds) or "no"
    if seen.refused and seen.objects:
        made += ", refused"
    return [link(seen.manifest), made, seen.imported, places(seen.findings)]


def link(manifest: Manifest) -> str:
    """Return a link to where the manifest was found."""
    revision = REVISIONS.get(manifest.repository, "HEAD")
    return f"[{manifest.id}](https://github.com/{manifest.repository}/blob/{revision}/{manifest.path})"


def rewritten(page: str, seen: Sequence[Seen]) -> str:
    """Return the page with the current results, and the sentences of people unchanged."""
    rows = {one.manifest.id: one for one in seen if one.manifest.kind in JUDGED}
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
    """Return the findings of each manifest."""
    return {one.manifest.id: one.findings for one in seen}


def sentence(row: str) -> str:
    """Return the last cell of a row, which people write."""
    return row.rstrip().removesuffix("|").rpartition(" | ")[2].strip()


def block(page: str, name: str, lines: Iterable[str]) -> str:
    """Return the page with other lines between the markers of a block."""
    before, start, rest = page.partition(BLOCK.format(name))
    _, end, after = rest.partition(END)
    written = "".join(f"{line}\n" for line in lines)
    return f"{before}{start}{written}{end}{after}" if end else page


def summary(seen: Iterable[Seen]) -> Iterator[str]:
    """Yield one line per kind and dialect, and the total."""
    yield "| kind | manifests | lowered | refused | imported | with an override |"
    yield "|---|---|---|---|---|---|"
    total = [0] * 5
    for kind, group in by_kind(one for one in seen if one.manifest.kind in JUDGED).items():
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
    """Group manifests by kind, and by dialect for a kind with two."""
    groups: dict[str, list[Seen]] = {}
    for one in seen:
        kind, dialect = one.manifest.kind, one.manifest.dialect
        groups.setdefault(kind if dialect == "-" else f"{kind}, {dialect}", []).append(one)
    return groups


def others(seen: Iterable[Seen]) -> Iterator[str]:
    """Yield lines about the manifests of the other kinds: how many have which errors and warnings."""
    yield "| kind | manifests | lowered | errors and warnings |"
    yield "|---|---|---|---|"
    groups = Counter(
        (one.manifest.kind, "yes" if one.objects else "no", _list_serious_rules(one.findings))
        for one in seen
        if one.manifest.kind not in JUDGED
    )
    for (kind, lowered, rules), count in groups.items():
        yield f"| {kind} | {count} | {lowered} | {rules} |"


def _list_serious_rules(findings: Iterable[Data]) -> str:
    """The rules of the errors and warnings."""
    return ", ".join(dict.fromkeys(one["rule"] for one in findings if one["severity"] != "info")) or "–"


# --- the program


def faults(page: str, seen: Sequence[Seen]) -> Iterator[str]:
    """Yield sentences about errors of podplan or the page."""
    judged = {found["id"]: sentence(line) for line in page.splitlines() if (found := ROW.match(line))}
    ids = {one.manifest.id for one in seen if one.manifest.kind in JUDGED}
    for one in seen:
        yield from (f"{one.manifest.file}: {fault}" for fault in one.faults)
    yield from (f"{PAGE.name} has no row for {missing}" for missing in sorted(ids - judged.keys()))
    yield from (f"{PAGE.name} has a row for {gone}, and no manifest" for gone in sorted(judged.keys() - ids))
    yield from (f"{PAGE.name} says nothing about {empty}" for empty, said in judged.items() if not said)
    yield from (f"{PAGE.name}: {fault}" for fault in corpus_verdicts.faults(page, by_id(seen)))


def main(arguments: list[str]) -> int:
    """Process every manifest of a folder; return 1 if there is an error, 3 without manifests."""
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
    """Return the lines of the page that differ from the current results."""
    before, after = page.splitlines(), now.splitlines()
    return list(difflib.unified_diff(before, after, PAGE.name, "now", lineterm="", n=0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
