"""What a project adds to its pages: of what they are about, the rest of this package knows nothing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Term:
    """A term that has an entry on one of the pages, to which others link where they use it.

    Attributes:
        name: What it is called.
        page: The page of its entry, relative to the folder of the pages.
        anchor: The id of its entry.
        says: What it is, in one sentence of plain text.
        words: How prose writes it: linked where a page uses one of them first, at the start of a sentence too.
        code: How it stands in code marks: linked where a paragraph uses it first.
        is_verb: Whether its words are verbs as well, so that they are linked where they are nouns alone.
        is_rare: Whether its code means nothing else, so that it is linked once a page, and where a value is it too.
    """

    name: str
    page: str
    anchor: str
    says: str
    words: tuple[str, ...] = ()
    code: str = ""
    is_verb: bool = False
    is_rare: bool = False


class Adapter:
    """What a project may say of its own, each with a default that says nothing.

    A project names the module that holds one, as `ADAPTER`, in the option `adapter` of `livepage.extension`.

    Attributes:
        slow_work: The logger that hears of each piece of work that the next build will find done.
        caches: The variables of the environment that name folders into which a block may write.
        functions: The packages whose functions are found by the search where a listing names them.
        replaced: By the class of an element that lives on its page alone, what stands for it in a page's Markdown.
        packages: The project's own packages that ask the environment and the clock for what shows on no page, or is
            told by `describe_machine`.
        checks: The packages whose asserts count as those of the page that calls them.
        stopwatches: Files, relative to the project, that compare times and show none.
        settings: By the name of a library's settings, what reads them, and what sets one by its name.
    """

    slow_work: str = ""
    caches: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    stopwatches: tuple[str, ...] = ()
    replaced: ClassVar[Mapping[str, str]] = {}
    settings: ClassVar[Mapping[str, tuple[Callable[[], Mapping[str, Any]], Callable[[str, Any], None]]]] = {}

    def list_missing(self) -> Mapping[str, str]:
        """Return the targets that this machine lacks, each with the reason."""
        return {}

    def list_makers(self, values: Iterable[object]) -> Iterable[str]:
        """Return what made that which the names of a page stand for, each in words, for the foot of the page."""
        del values
        return ()

    def find_gap(self, error: BaseException) -> tuple[str, str] | None:
        """Return the missing target and the reason of an error that is no fault of the page, or None."""
        del error
        return None

    def find_gaps(self, markdown: str) -> Mapping[str, str]:
        """Return the missing targets that the Markdown of a notebook tells of, each with the reason."""
        del markdown
        return {}

    def tell(self, text: str) -> str:
        """Return what a block printed as plain Markdown says it, where the page shows it in a way of its own."""
        return text

    def list_terms(self) -> Iterable[Term]:
        """Return the terms that have entries."""
        return ()

    def choose_terms(self, page: str) -> Iterable[Term]:
        """Return the terms that are linked on a page, by its file: all of them, unless the project says otherwise."""
        del page
        return self.list_terms()

    def find_anchor(self, link: str) -> str:
        """Return the id that a link needs which is read by a script of the page, or an empty string for any other."""
        del link
        return ""

    def find_imported(self, codes: Iterable[str], folder: Path) -> Iterable[Path]:
        """Return the files of a folder that code imports, directly or not: all of them, unless the project knows."""
        del codes
        return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)

    def describe_machine(self) -> object:
        """Return what else the outcome of a page depends on here, as JSON holds it."""
        return None

    def list_files(self, cell: Mapping[str, object]) -> Iterable[Path]:
        """Return the files that a cell shows, by its metadata, besides those that it imports."""
        del cell
        return ()

    def write_first_cell(self, address: str) -> str:
        """Return the code with which a notebook begins that is taken away; the address is that of the repository."""
        del address
        return ""

    def expand_cell(self, cell: Mapping[str, object]) -> Iterable[tuple[str, str]] | None:
        """Return what a cell is in a notebook that is taken away, by its metadata, as pairs of kind and text.

        The kinds are `code` and `markdown`; None leaves the cell as it is.
        """
        del cell
        return None


def load_adapter(name: str) -> Adapter:
    """Return what a project adds, by the name of its module, or what adds nothing where that is empty."""
    adapter: Adapter = import_module(name).ADAPTER if name else Adapter()
    return adapter
