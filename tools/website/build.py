"""``make site``: the documentation as a web site in build/site/html.

The pages are those of ``docs/``, README, CHANGELOG, CONTRIBUTING and SECURITY, and those that are made here:
one for each kind, and one for the commands. Links to files that are no pages lead to the repository. mkdocs
fails for a broken link, and this for a page that no other page leads to.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag

from tools.website.command_page import build_command_page
from tools.website.kind_pages import write_kind_pages

TOP = Path(__file__).parents[2]
SITE = TOP / "build" / "site"
PAGES, HTML = SITE / "docs", SITE / "html"
REPOSITORY = "https://github.com/example/podplan/{form}/main/{path}"
# Files outside of docs/ that become pages.
OTHER_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
FENCED = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Build the site; return the exit code."""
    shutil.rmtree(SITE, ignore_errors=True)
    broken = [*_copy_pages()]
    shutil.copy(Path(__file__).with_name("site.css"), PAGES)
    write_kind_pages(PAGES / "kinds")
    (PAGES / "commands.md").write_text(build_command_page(TOP / "fixtures" / "help"), "utf-8")
    for text in broken:
        print(text, file=sys.stderr)
    # Not --quiet: by that, --strict sees no warning.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file"]
    # The notice that it prints otherwise is about mkdocs 2, which the pinned version is not for.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command += [str(Path(__file__).with_name("mkdocs.yml"))]
    code = subprocess.run(command, env=environment, check=False).returncode
    orphans = [] if code else find_orphans(HTML)
    for page in orphans:
        print(f"no page leads to {page}", file=sys.stderr)
    return code or int(bool(broken or orphans))


def _copy_pages() -> Iterator[str]:
    """Copy pages and pictures to the folder of mkdocs; yield links to files that do not exist."""
    targets = {TOP / name: PAGES / target for name, target in OTHER_PAGES.items()}
    for source in sorted((TOP / "docs").rglob("*")):
        if source.is_file():
            name = "index.md" if source.name == "README.md" else source.name
            targets[source] = PAGES / source.parent.relative_to(TOP / "docs") / name
    # The site shows these pictures without the repository, which may be out of reach.
    targets |= {picture: PAGES / picture.relative_to(TOP) for picture in find_pictures([*targets])}
    for source, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix != ".md":
            shutil.copy(source, target)
            continue
        text, broken = rewrite_links(source.read_text("utf-8"), source, targets)
        target.write_text(text, "utf-8")
        yield from (f"{source.relative_to(TOP)} links to {link}, which does not exist" for link in broken)


def find_pictures(files: list[Path]) -> list[Path]:
    """Return the pictures that pages show and that are not among the files."""
    pages = [file for file in files if file.suffix == ".md"]
    shown = (
        Path(os.path.normpath(page.parent / link))
        for page in pages
        for link in PICTURE.findall(page.read_text("utf-8"))
    )
    return sorted({picture for picture in shown if picture.is_file()} - {*files})


def rewrite_links(text: str, source: Path, targets: dict[Path, Path]) -> tuple[str, list[str]]:
    """Return the text of a page with the links of its place in the site, and those to nothing."""
    broken: list[str] = []

    def rewrite(link: re.Match[str]) -> str:
        path = Path(os.path.normpath(source.parent / link[2]))
        if path in targets:
            place = os.path.relpath(targets[path], targets[source].parent)
        elif path.exists():
            form = "tree" if path.is_dir() else "blob"
            place = REPOSITORY.format(form=form, path=path.relative_to(TOP).as_posix())
        else:
            broken.append(link[2])
            place = link[2]
        return f"{link[1]}{place}{link[3] or ''}{link[4]}"

    # Every second part is inside of a fence.
    parts = FENCED.split(text)
    parts[::2] = [LINK.sub(rewrite, part) for part in parts[::2]]
    return "".join(parts), broken


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]


def find_orphans(html: Path) -> list[str]:
    """Return the pages of a built site that no way of links from the first page leads to."""
    seen, queue = set[Path](), [html / "index.html"]
    while queue:
        page = queue.pop()
        if page in seen or not page.is_file():
            continue
        seen.add(page)
        parser = _Links()
        parser.feed(page.read_text("utf-8"))
        for link in parser.links:
            if "://" not in link and not link.startswith(("mailto:", "#")):
                target = Path(os.path.normpath(page.parent / urldefrag(link)[0]))
                queue.append(target / "index.html" if target.is_dir() else target)
    pages = {page for page in html.rglob("*.html") if page.name != "404.html"}
    return sorted(str(page.relative_to(html)) for page in pages - seen)


if __name__ == "__main__":
    sys.exit(main())
