"""The answer that lists the programs in files of StableHLO."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer, Hint, Table, suggest
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part


@dataclass(frozen=True)
class ProgramTable(Answer):
    """The answer that lists programs which questions can compile.

    Attributes:
        title: The name of the file, folder or archive.
        programs: The types of the arguments and of the results, and the mesh axes, of each program by its subject.
        problems: Why other programs cannot be compiled, by their subject.
        modules: The subjects of the HLO modules in the same folder or archive.
    """

    title: str
    programs: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    modules: tuple[str, ...] = ()

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the number of programs, a table of them, and the next command to try."""
        yield f"{self.title} contains {plural(len(self.programs), 'program')} as StableHLO; each question compiles it."
        rows = tuple((name, *types, axes or "one device") for name, (*types, axes) in self.programs.items())
        yield Table(("program", "arguments", "results", "devices"), rows)
        if self.problems:
            yield f"{plural(len(self.problems), 'other')} cannot be compiled:"
        yield from self.problems.values()
        if self.modules:
            yield f"It also contains {plural(len(self.modules), 'HLO module')}, such as {self.modules[0]}."
        if rows:
            yield Hint("To inspect one of them:", suggest("summary", rows[0][0]))
