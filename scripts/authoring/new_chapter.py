"""Begin a chapter: a page with its parts, a program, a test, and a place in the navigation.

    scripts/new-chapter "Title" [--section "Use it well"]

All is written or nothing: what cannot become a chapter is refused before the first file.
"""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template

from authoring import affirm, update
from common import ROOT
from lint import style, typed_numbers
from livepage.notebooks import read_prose
from livepage.read import project
from livepage.run import backing

PARTS = Path(__file__).with_name("chapter")
LONGEST = 60
SECTIONS = ("Understand", "Beyond the compiler", "Use it well")
"""The sections of the navigation that hold chapters."""

_LETTERS = re.compile(r"[A-Za-z0-9 ',()?-]+")
_ENTRY = re.compile(r"^ +- (?P<title>[^:\n]+|\"[^\"\n]+\"): (?P<file>[\w/-]+\.md)$", re.MULTILINE)


class ChapterError(Exception):
    """A title that cannot become a chapter; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class Chapter:
    """A chapter that is about to be written.

    Attributes:
        title: The title.
        slug: The name of the page's file without `.md`.
        name: The name of the program's function, and of its file without `.py`.
    """

    title: str
    slug: str
    name: str

    def files(self, root: Path) -> dict[Path, str]:
        """Return the texts of the chapter's page, program and test, by path; nothing is written."""
        words = {"title": self.title, "slug": self.slug, "name": self.name}
        places = {
            "page.md": root / "docs" / f"{self.slug}.md",
            "program.py.in": root / "snippets" / "programs" / f"{self.name}.py",
            "test.py.in": root / "tests" / "programs" / f"test_{self.name}.py",
        }
        return {
            path: Template((PARTS / part).read_text(encoding="utf-8")).substitute(words)
            for part, path in places.items()
        }


def draft_chapter(title: str) -> Chapter:
    """Return the chapter for a title.

    Raises:
        ChapterError: The title is empty or too long, has forbidden characters, or gives no valid name of a file.
    """
    title = " ".join(title.split())
    if not title:
        message = 'the title is empty; give one in quotes, such as "Reduced precision"'
        raise ChapterError(message)
    if odd := sorted(set(_LETTERS.sub("", title))):
        message = (
            f"the title {title!r} holds {' '.join(map(repr, odd))}; "
            "use the letters a to z, digits, spaces, hyphens, commas, apostrophes, parentheses and question marks"
        )
        raise ChapterError(message)
    if len(title) > LONGEST:
        message = f"the title has {len(title)} letters and the navigation room for {LONGEST}; say it shorter"
        raise ChapterError(message)
    slug = "-".join(re.findall(r"[a-z0-9]+", title.lower().replace("'", "")))
    name = slug.replace("-", "_")
    # The name becomes a module and a function, so a title such as "Import" or "3 passes" cannot be used.
    if not name.isidentifier() or keyword.iskeyword(name):
        message = (
            f"the title {title!r} gives the program the name {name!r}, which is none that Python takes; "
            "begin it with a letter, and let it be more than a word of Python"
        )
        raise ChapterError(message)
    return Chapter(title, slug, name)


def plan(chapter: Chapter, section: str, root: Path = ROOT) -> dict[Path, str]:
    """Return every file that the chapter needs with its new text, including the navigation.

    Args:
        chapter: The chapter.
        section: The section of the navigation to which the chapter is appended.
        root: The project.

    Raises:
        ChapterError: The title or a file exists already, the section does not, or the title breaks a rule for prose.
    """
    config = root / "mkdocs.yml"
    nav = config.read_text(encoding="utf-8")
    for entry in _ENTRY.finditer(nav):
        if entry["title"].strip('"').lower() == chapter.title.lower():
            message = f"the navigation has {entry['title']} already, docs/{entry['file']}; choose another title"
            raise ChapterError(message)
    files = chapter.files(root)
    for path in files:
        if path.exists():
            message = f"{path.relative_to(root).as_posix()} is there already; choose another title"
            raise ChapterError(message)
    page = f"docs/{chapter.slug}.md"
    text = files[root / page]
    if findings := [*typed_numbers.check_text(text, page, root), *style.check_text(text, page)]:
        message = f"the title breaks a rule for prose: {findings[0]}"
        raise ChapterError(message)
    return {**files, config: add_entry(nav, chapter, section)}


def add_entry(nav: str, chapter: Chapter, section: str) -> str:
    """Return the configuration with the chapter at the end of a section of the navigation.

    Raises:
        ChapterError: The section does not exist.
    """
    match = re.search(rf"^  - {re.escape(section)}:\n(?:      .*\n)+", nav, re.MULTILINE)
    if match is None:
        message = f"mkdocs.yml has no section {section!r} in its navigation; there are {', '.join(SECTIONS)}"
        raise ChapterError(message)
    # YAML needs quotes around a title with these characters.
    title = f'"{chapter.title}"' if re.search(r"[,?()']|^[-\d]", chapter.title) else chapter.title
    return f"{nav[: match.end()]}      - {title}: {chapter.slug}.md\n{nav[match.end() :]}"


def write_files(files: dict[Path, str]) -> None:
    """Write all files; if one cannot be written, restore the earlier state and raise the error."""
    # The old contents are read before anything is written, so that an error in the middle can be undone.
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    except BaseException:
        for path, old in before.items():
            if old is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(old)
        raise


def main() -> None:
    """Write the chapter that the command line names, with expected outputs, affirm it, and print the next steps."""
    parser = argparse.ArgumentParser(prog="scripts/new-chapter", description=__doc__)
    parser.add_argument("title", help='what the chapter is called, such as "Reduced precision"')
    parser.add_argument("--section", default=SECTIONS[-1], choices=SECTIONS, help="where it stands in the navigation")
    options = parser.parse_args()
    try:
        chapter = draft_chapter(options.title)
        files = plan(chapter, options.section)
        write_files(files)
    except ChapterError as error:
        sys.exit(f"new-chapter: {error}")
    except OSError as error:
        sys.exit(f"new-chapter: cannot write {error.filename}: {error.strerror}; nothing was changed")
    for path in files:
        print(f"{'changed' if path.name == 'mkdocs.yml' else 'wrote'} {path.relative_to(ROOT).as_posix()}")
    update.update([chapter.name], check=False)
    project.root = ROOT
    affirm.affirm(read_prose(ROOT / f"docs/{chapter.slug}.md"), lambda _: True, {})  # the template's claims have checks
    print(f"changed {backing.RECORDS.as_posix()}")
    print(
        f"\nNow write: docs/{chapter.slug}.md says in its comments what goes where.\n"
        f"  scripts/test docs/{chapter.slug}.md    its blocks, values, checks and style\n"
        "  scripts/serve                          see it, reloading as you write\n"
        f"  scripts/authoring/affirm docs/{chapter.slug}.md\n"
        "                                         when a sentence that claims something, or its check, changed\n"
        f"  scripts/update {chapter.name}    after a change of the program\n"
        "  docs/contributing.md                   the whole way to a pull request"
    )


if __name__ == "__main__":
    main()
