"""The interface for a project's own additions; the rest of this package does not know what the pages are about."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Term:
    """A term with an entry on one of the pages; other pages link to the entry where they use the term.

    Attributes:
        name: The term itself.
        page: The page of the entry, relative to the folder of the pages.
        anchor: The id of the entry.
        says: The definition, as one sentence of plain text.
        words: The forms of the term in prose; the first use on a page is linked, also at the start of a sentence.
        code: The form of the term in code marks; the first use in a paragraph is linked.
        is_verb: Whether the words can also be verbs; then they are only linked where they are nouns.
        is_rare: Whether the code has no other meaning; then it is linked once a page, also if it is a computed value.
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
    """The additions that a project can make, each with a neutral default.

    The option `adapter` of `livepage.extension` names a module, whose `ADAPTER` is an instance of a subclass.

    Attributes:
        slow_work: The name of the logger for slow operations whose results are cached for the next build.
        page_costs: The file with the cost of each page in a build without caches, relative to the project.
        caches: The environment variables with the paths of folders that blocks may write to.
        functions: The packages whose functions the search indexes when a listing uses them.
        replaced: The replacements in a page's Markdown for elements that only work on the page, by the elements' class.
        packages: The project's own tool packages: what they read from the environment and the clock does not affect any
            page, or is covered by `describe_machine`.
        lasting: The cached functions of these packages that are not repeated for each page, because they start a
            process, change this one, or take long. Each has the file or folder of its package whose code it depends on.
        fetched: The names of files in the project that are fetched or generated and that no page shows, so that no page
            depends on whether they are there.
        checks: The packages whose asserts count as those of the page that calls them.
        stopwatches: The files that may read the clock without making a page's outcomes unstorable.
        settings: For each library's settings, a function that reads them all and a function that sets one by its name.
    """

    slow_work: str = ""
    page_costs: str = ""
    caches: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    fetched: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    stopwatches: tuple[str, ...] = ()
    lasting: ClassVar[Mapping[str, str]] = {}
    replaced: ClassVar[Mapping[str, str]] = {}
    settings: ClassVar[Mapping[str, tuple[Callable[[], Mapping[str, Any]], Callable[[str, Any], None]]]] = {}

    def list_missing(self) -> Mapping[str, str]:
        """Return the targets that are missing on this machine, each with the reason."""
        return {}

    def list_makers(self, values: Iterable[object]) -> Iterable[str]:
        """Return descriptions of the tools that produced the values of a page's names, for the foot of the page."""
        del values
        return ()

    def find_gap(self, error: BaseException) -> tuple[str, str] | None:
        """Return the missing target behind an error and the reason, or None if the page is at fault."""
        del error
        return None

    def find_gaps(self, markdown: str) -> Mapping[str, str]:
        """Return the missing targets that the Markdown of a notebook reports, each with the reason."""
        del markdown
        return {}

    def tell(self, text: str) -> str:
        """Return a block's output with the project's own elements written as plain Markdown."""
        return text

    def list_terms(self) -> Iterable[Term]:
        """Return the terms that have entries."""
        return ()

    def choose_terms(self, page: str) -> Iterable[Term]:
        """Return the terms that are linked on a page, given by its file; by default all terms."""
        del page
        return self.list_terms()

    def find_anchor(self, link: str) -> str:
        """Return the id that must exist for a link that a page's script reads, or an empty string for other links."""
        del link
        return ""

    def find_imported(self, codes: Iterable[Path | str], folder: Path) -> Iterable[Path]:
        """Return the files of a folder that code imports, directly or indirectly; by default all of its files."""
        del codes
        return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)

    def describe_machine(self) -> object:
        """Return the properties of this machine that the outcomes of a page depend on, as JSON can represent them."""
        return None

    def list_files(self, cell: Mapping[str, object]) -> Iterable[Path]:
        """Return the files that a cell displays because of its metadata, in addition to those that it imports."""
        del cell
        return ()

    def write_first_cell(self, address: str) -> str:
        """Return the code of the first cell of a downloadable notebook, given the repository's address."""
        del address
        return ""

    def expand_cell(self, cell: Mapping[str, object]) -> Iterable[tuple[str, str]] | None:
        """Return the content of a cell in the downloadable notebook as pairs of kind and text, given its metadata.

        The kinds are `code` and `markdown`; None leaves the cell unchanged.
        """
        del cell
        return None


def load_adapter(name: str) -> Adapter:
    """Return the adapter of the module `name`, or a neutral adapter for an empty name."""
    adapter: Adapter = import_module(name).ADAPTER if name else Adapter()
    return adapter
