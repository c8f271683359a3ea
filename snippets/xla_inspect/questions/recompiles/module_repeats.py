"""Modules of a dump with one name, of which a function was compiled more than once, and in what they differ."""

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
# TensorFlow numbers each trace of a function, and XLA the computation that it is.
_TRACE = re.compile(r"^(?P<name>a_inference_.*?)_\d+__.*$|^(?P<other>.*?)\.\d+$", re.DOTALL)


@dataclass(frozen=True)
class RepeatedModule:
    """A module of a dump.

    Attributes:
        module: What it is called behind the dump's name and a colon.
        arguments: The shapes of its arguments.
        differs: In what these differ from those of the one before it of the same name, or what else may be the reason;
            empty for the first.
    """

    module: str
    arguments: tuple[str, ...]
    differs: str


@dataclass(frozen=True)
class RepeatedFunction:
    """Modules of one name.

    Attributes:
        name: The name, without what numbers its traces.
        modules: They, in the order of their numbers.
    """

    name: str
    modules: tuple[RepeatedModule, ...]


@dataclass(frozen=True)
class ModuleRepeats(Answer):
    """The functions that were compiled more than once, as far as a dump tells.

    Attributes:
        title: What the dump is called.
        asked: The dump, as on the command line.
        compiles: How many modules it holds.
        functions: Those of which there are several, the most first.
        at_most: How many compiles of a function are allowed, or None.
    """

    title: str
    asked: str
    compiles: int
    functions: tuple[RepeatedFunction, ...]
    at_most: int | None

    @property
    def holds(self) -> bool:
        """True if no function is compiled more often than is allowed."""
        return self.at_most is None or all(len(each.modules) <= self.at_most for each in self.functions)

    def tell(self) -> Iterator[Part]:
        """Yield how many there are, and of each name in what its modules differ."""
        said = f"{self.title} holds {plural(self.compiles, 'module')}"
        if not self.functions:
            yield f"{said}, each of a name of its own."
            return
        named = ", ".join(f"{shorten(each.name, _NAME)} {len(each.modules)} times" for each in self.functions[:_FEW])
        yield f"{said}; compiled more than once: {named}{', ...' if len(self.functions) > _FEW else ''}."
        for each in self.functions:
            rows = tuple((one.module.partition(".")[0], shorten(one.differs, _WHAT)) for one in each.modules[1:])
            yield Table(("module", "differs from the one before it"), rows, (), shorten(each.name, _NAME))
        yield "A dump does not tell which call it was, nor how long it took."
        first, second = self.functions[0].modules[:2]
        both = f"{self.asked}:{first.module} {self.asked}:{second.module}"
        yield Hint("What the compiler made otherwise of two:", suggest("diff", both))


def find_repeats(title: str, modules: Sequence[DumpedModule], asked: str, at_most: int | None = None) -> ModuleRepeats:
    """Return what of a dump was compiled more than once.

    Args:
        title: What the dump is called.
        modules: Its modules.
        asked: The dump, as on the command line.
        at_most: How many compiles of a function are allowed, or None.
    """
    groups: dict[tuple[str, str], list[DumpedModule]] = defaultdict(list)
    for module in modules:
        groups[module.folder, name_function(module.name)].append(module)
    functions = [RepeatedFunction(name, tuple(_compare(same))) for (_, name), same in groups.items() if len(same) > 1]
    functions.sort(key=lambda each: -len(each.modules))
    return ModuleRepeats(title, asked, len(modules), tuple(functions), at_most)


def name_function(module: str) -> str:
    """Return the name of a module without what numbers the traces of a function."""
    match = _TRACE.match(module)
    return (match["name"] or match["other"]) if match else module


def _compare(modules: Sequence[DumpedModule]) -> Iterator[RepeatedModule]:
    before: tuple[str, ...] | None = None
    for module in modules:
        yield RepeatedModule(module.key, module.arguments, "" if before is None else _tell(before, module.arguments))
        before = module.arguments


def _tell(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    if len(before) != len(now):
        return f"{plural(len(before), 'argument')} became {len(now)}"
    changed = [
        f"argument {at}: {old} became {new}"
        for at, (old, new) in enumerate(zip(before, now, strict=True))
        if old != new
    ]
    if not changed:
        return "the arguments are alike: another program of one name, or the same once more"
    more = f", {len(changed) - _FEW} more" if len(changed) > _FEW else ""
    return ", ".join(changed[:_FEW]) + more
