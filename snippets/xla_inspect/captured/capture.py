"""The result of one compilation: a `Capture`, which is plain data that can be read without JAX."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, overload

from xla_inspect import hlo
from xla_inspect.captured.parts import (
    INSTRUCTION,
    Code,
    Constant,
    Cost,
    Equations,
    Memory,
    PassChange,
    PassRun,
    Thunk,
    Times,
)
from xla_inspect.errors import InspectError, TargetUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xla_inspect.captured.log_event import LogEvent
    from xla_inspect.captured.low_level import LowLevel
    from xla_inspect.hlo import Frame, Module


@dataclass(frozen=True)
class Capture:
    """One program compiled for one target: every stage, and the compiler's own reports.

    One that comes from the cache holds the small parts; the long texts are read when they are first asked for.

    Attributes:
        program: The name of the function.
        target: The short name of the target.
        versions: The packages that made it, name to version.
        options: The compiler options that were set, name to value.
        source_file: The project-relative file that holds the function, or an empty string.
        source: The text of the function's file, or an empty string when it has none.
        jaxpr: The traced program as JAX prints it.
        stablehlo: The lowered program, without locations.
        stablehlo_locations: The same with `loc(...)` on each operation.
        before: HLO as the compiler got it (`before_optimizations`), without the stack-frame tables.
        after: Optimized HLO, without the stack-frame tables.
        runs: Every run of a pass, in order.
        passes: The passes that changed the module, in order, each with the module after it.
        buffers: The text of `buffer-assignment.txt`.
        live_ranges: The text of `live-range.txt`.
        memory: Bytes needed.
        cost: Work counted.
        thunks: The thunks of a GPU executable, in order; otherwise empty. `launches.list_launches` counts launches.
        fusion_log: The GPU fusion cost model's steps, sorted since their order varies; empty elsewhere.
        code: Generated code.
        frames: Stack-frame id to call chain, innermost frame first; metadata of an instruction names the id.
        sources: The project's files that the program comes from, its own first, each with its text.
        jaxpr_locations: The jaxpr with `# file:line:column (function)` after the first line of each equation.
        memory_report: The text of `memory-usage-report.txt`: what takes the memory at the peak, by size.
        error: The compiler's error, or an empty string. Such a capture has what the compiler left
            until then: `after` may be empty, and `memory` and `cost`, which an executable would say, are zero.
        times: The times of the compilation, which differ between otherwise equal captures.
        is_stepped: Whether `passes` holds the module after each pass that changed it. One that was made without is
            made in less time and memory, and has no `passes`.
        equations: The jaxpr's equations by part of the program.
        constants: The arrays of more than 1 KiB that the program closes over, the largest first. In `stablehlo` such a
            literal is left out, and `dense_resource<__elided__>` stands in its place, in HLO `constant({...})`.
        log: The compiler's messages about its reasons, in order, if they were requested.
        low_level: A TPU's programs below HLO, those of kernels first, where that was asked for.
        missing: Why a field is empty, or holds something else than it says, by its name: of a dump, which does not tell
            all.
    """

    program: str
    target: str
    versions: Mapping[str, str]
    options: Mapping[str, str | int | bool]
    source_file: str
    source: str
    jaxpr: str
    stablehlo: str
    stablehlo_locations: str
    before: str
    after: str
    runs: tuple[PassRun, ...]
    passes: tuple[PassChange, ...]
    buffers: str
    live_ranges: str
    memory: Memory
    cost: Cost
    thunks: tuple[Thunk, ...]
    # Factories and no plain defaults: those would be attributes of the class, found before what is read when asked for.
    fusion_log: tuple[str, ...] = field(default_factory=tuple)
    code: tuple[Code, ...] = field(default_factory=tuple)
    frames: Mapping[int, tuple[Frame, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    jaxpr_locations: str = field(default_factory=str)
    memory_report: str = field(default_factory=str)
    error: str = field(default_factory=str)
    times: Times = field(default_factory=Times, compare=False)
    is_stepped: bool = field(default_factory=lambda: True)
    equations: tuple[Equations, ...] = field(default_factory=tuple)
    constants: tuple[Constant, ...] = field(default_factory=tuple)
    log: tuple[LogEvent, ...] = field(default_factory=tuple)
    low_level: tuple[LowLevel, ...] = field(default_factory=tuple)
    missing: Mapping[str, str] = field(default_factory=dict)
    notebook_view: ClassVar[Callable[[Capture], str]] = repr
    """Function that returns the HTML for a notebook, which the package sets: what draws a capture is above this one."""

    @cached_property
    def unoptimized_module(self) -> Module:
        """The parsed HLO that the compiler got; where that is missing, the first that is known after it."""
        if not self.before:
            return self.passes[0].module if self.passes else self.module
        return hlo.parse_module(self.before)

    @cached_property
    def module(self) -> Module:
        """The parsed optimized HLO."""
        return hlo.parse_module(self.after)

    @cached_property
    def instruction_counts(self) -> tuple[int, ...]:
        """The number of instructions in the module that the compiler received, and after each pass that changed it."""
        return (len(INSTRUCTION.findall(self.before)), *(change.instruction_count for change in self.passes))

    @cached_property
    def pass_names(self) -> tuple[str, ...]:
        """The passes that changed the module, in order."""
        return tuple(change.name for change in self.passes)

    @property
    def is_dumped(self) -> bool:
        """Whether the capture was read from a compiler's dump and not compiled by this package."""
        return bool(self.missing)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The project's files that call chains name, sorted."""
        return tuple(sorted({frame.file for chain in self.frames.values() for frame in chain}))

    @cached_property
    def identity(self) -> str:
        """A hash of the compilation's outcome: equal for captures that differ at most in name and source."""
        from xla_inspect.captured.storage import digest

        return digest(replace(self, program="", source_file="", source="", sources={}, times=Times()))

    def retold(self, **values: Any) -> Capture:  # noqa: ANN401 - fields of any type, or what properties keep
        """Return a copy with new values for some fields or stored properties, without reading the others.

        It is for those that other properties do not depend on: the program's name and source, and the identity.
        """
        made = copy(self)
        made.__dict__.update(values)
        return made

    @property
    def own(self) -> Capture:
        """The capture with the lines of the reader's own code, of one that was given those of a package."""
        own: Capture = self.__dict__.get("_own", self)
        return own

    if not TYPE_CHECKING:  # a checker would take it to allow any name

        def __getattr__(self, name: str) -> object:
            """Read the part that holds a field that was left for later (see `xla_inspect.captured.storage`)."""
            read = self.__dict__.get("_later", {}).get(name)
            if read is None:
                message = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(message, name=name, obj=self)
            for field_name, value in read().items():
                self.__dict__.setdefault(field_name, value)
            return self.__dict__[name]

    def __repr__(self) -> str:
        """Return which program it is of and how large its modules are; its texts have hundreds of lines."""
        made = f"{len(self.passes)} passes changed the module" if self.is_stepped else "made without passes"
        return f"<Capture of {self.program} for {self.target}: {self.error.partition(chr(10))[0][:80] or made}>"

    def _repr_html_(self) -> str:
        """Return the view that `xla_inspect` registers for notebooks."""
        return type(self).notebook_view(self)

    def to_json(self) -> str:
        """Return the capture as one line of JSON, from which `from_json` makes an equal one."""
        from xla_inspect.captured.storage import dump

        return dump(self)

    @classmethod
    def from_json(cls, text: str) -> Capture:
        """Return the capture that `to_json` wrote.

        Raises:
            InspectError: The text is no capture, or one of another format.
        """
        from xla_inspect.captured.storage import load_capture

        return load_capture(text)


class Captures(Mapping[str, Capture]):
    """One program's captures by target, with the reasons for targets that this machine cannot compile for.

    Iterating gives the targets that were compiled. Looking up one that was asked for and could not be compiled
    raises `TargetUnavailableError`, so that a page that needs it shows a gap there.

    Args:
        captures: The captures by target.
        missing: The reason why each of the other targets could not be compiled.
        targets: All targets that were asked for, in order.
    """

    def __init__(self, captures: Mapping[str, Capture], missing: Mapping[str, str], targets: tuple[str, ...]) -> None:
        """Keep the captures in the order in which the targets were asked for."""
        self.targets = targets
        self.missing = dict(missing)
        self._captures = {target: captures[target] for target in targets if target in captures}

    def __getitem__(self, target: str) -> Capture:
        """Return the capture for a target.

        Raises:
            TargetUnavailableError: The target was asked for, and this machine cannot compile for it.
            InspectError: The target was not asked for.
        """
        if target in self._captures:
            return self._captures[target]
        if target in self.missing:
            raise TargetUnavailableError(target, self.missing[target])
        message = f"no capture for target {target!r}; there are {', '.join(self.targets) or 'none'}"
        raise InspectError(message)

    def require(self) -> None:
        """Do nothing where each target that was asked for was compiled.

        Raises:
            TargetUnavailableError: One could not be, so that a check that speaks of all of them is a gap.
        """
        for target in self.targets:
            self[target]

    @overload
    def get(self, key: str, /) -> Capture | None: ...
    @overload
    def get[T](self, key: str, default: T, /) -> Capture | T: ...
    def get(self, key: str, default: object = None, /) -> object:
        """Return the capture for a target, or the default where there is none."""
        return self._captures.get(key, default)

    def __contains__(self, target: object) -> bool:
        """Return whether there is a capture for a target."""
        return target in self._captures

    def __iter__(self) -> Iterator[str]:
        """Iterate over the targets that were compiled."""
        return iter(self._captures)

    def __len__(self) -> int:
        """Return how many targets were compiled."""
        return len(self._captures)
