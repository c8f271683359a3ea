"""The functions that were compiled more than once, according to a dump, and the differences of their arguments."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer, Hint, Table, suggest
from xla_inspect.plural import plural
from xla_inspect.units import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Part
    from xla_inspect.dumps import DumpedModule

_FEW, _NAME, _WHAT = 3, 36, 60
# TensorFlow appends a number for each trace to a function's name, and XLA appends one for its computation.
_TRACE = re.compile(r"^(?P<name>a_inference_.*?)_\d+__.*$|^(?P<other>.*?)\.\d+$", re.DOTALL)


@dataclass(frozen=True)
class RepeatedModule:
    """One of several modules of the same function in a dump.

    Attributes:
        module: Its key on the command line, after the dump's name and a colon.
        arguments: The shapes of its arguments.
        differs: The difference from the arguments of the previous module with the same name, or another possible
            reason; empty for the first module.
    """

    module: str
    arguments: tuple[str, ...]
    differs: str


@dataclass(frozen=True)
class RepeatedFunction:
    """The modules of one function.

    Attributes:
        name: The name of the function, without the numbers of its traces.
        modules: The modules in the order of their numbers.
    """

    name: str
    modules: tuple[RepeatedModule, ...]


@dataclass(frozen=True)
class ModuleRepeats(Answer):
    """The functions that were compiled more than once, according to a dump.

    Attributes:
        title: The name of the dump.
        asked: The dump, as on the command line.
        compiles: The number of modules in the dump.
        functions: The functions with several modules, the most frequent first.
        at_most: The number of compilations allowed for a function, or None.
    """

    title: str
    asked: str
    compiles: int
    functions: tuple[RepeatedFunction, ...]
    at_most: int | None

    @property
    def holds(self) -> bool:
        """True if no function is compiled more often than `at_most` allows."""
        return self.at_most is None or all(len(function.modules) <= self.at_most for function in self.functions)

    def tell(self) -> Iterator[Part]:
        """Yield the printed answer: the number of modules, and a table of differences for each repeated function."""
        summary = f"{self.title} contains {plural(self.compiles, 'module')}"
        if not self.functions:
            yield f"{summary}, all with different names."
            return
        names = ", ".join(
            f"{shorten(function.name, _NAME)} {len(function.modules)} times" for function in self.functions[:_FEW]
        )
        yield f"{summary}. Compiled more than once: {names}{', ...' if len(self.functions) > _FEW else ''}."
        for function in self.functions:
            rows = tuple((one.module.partition(".")[0], shorten(one.differs, _WHAT)) for one in function.modules[1:])
            yield Table(("module", "difference from the previous module"), rows, (), shorten(function.name, _NAME))
        yield "A dump does not record the calls that caused the compilations, nor their times."
        first, second = self.functions[0].modules[:2]
        both = f"{self.asked}:{first.module} {self.asked}:{second.module}"
        yield Hint("To compare two of the compiled programs:", suggest("diff", both))


def find_repeats(
    title: str, modules: Sequence[DumpedModule], command_words: str, at_most: int | None = None
) -> ModuleRepeats:
    """Return the functions with several modules in one folder of a dump, and how the modules' arguments differ."""
    groups: dict[tuple[str, str], list[DumpedModule]] = defaultdict(list)
    for module in modules:
        # Modules in different folders come from different runs, so they are not repeats of each other.
        groups[module.folder, name_function(module.name)].append(module)
    functions = [RepeatedFunction(name, tuple(_compare(same))) for (_, name), same in groups.items() if len(same) > 1]
    # The sort is stable, so equal counts keep the order of the compilations.
    functions.sort(key=lambda function: -len(function.modules))
    return ModuleRepeats(title, command_words, len(modules), tuple(functions), at_most)


def name_function(module: str) -> str:
    """Return the name of a module's function, without the numbers of its traces."""
    match = _TRACE.match(module)
    return (match["name"] or match["other"]) if match else module


def _compare(modules: Sequence[DumpedModule]) -> Iterator[RepeatedModule]:
    before: tuple[str, ...] | None = None
    for module in modules:
        yield RepeatedModule(module.key, module.arguments, "" if before is None else _tell(before, module.arguments))
        before = module.arguments


def _tell(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    # The positions of two lists of different lengths do not correspond.
    if len(before) != len(now):
        return f"{plural(len(before), 'argument')} became {len(now)}"
    changes = [
        f"argument {at}: {old} became {new}"
        for at, (old, new) in enumerate(zip(before, now, strict=True))
        if old != new
    ]
    # Closed-over constants and static arguments are not among the arguments of a module.
    if not changes:
        return "same arguments: another program of this name, or the same again"
    more = f", {len(changes) - _FEW} more" if len(changes) > _FEW else ""
    return ", ".join(changes[:_FEW]) + more
