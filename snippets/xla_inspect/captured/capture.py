"""The result of one compilation: a `Capture`, which is plain data that can be read without JAX."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from xla_inspect import hlo, notebook_view
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
    from collections.abc import Iterator

    from xla_inspect.captured.log_event import LogEvent
    from xla_inspect.captured.low_level import LowLevel
    from xla_inspect.hlo import Frame, Module


@dataclass(frozen=True)
class Capture:
    """One program compiled for one target: every stage, and the compiler's own reports.

    A capture from the cache contains only the small parts at first; long texts are read on first use.

    Attributes:
        program: The name of the function.
        target: The short name of the target.
        versions: The versions of the packages that compiled it, by name.
        options: The values of the compiler options that were set, by name.
        source_file: The project-relative path of the function's file, or an empty string.
        source: The text of the function's file, or an empty string without a file.
        jaxpr: The traced program as JAX prints it.
        stablehlo: The lowered program, without locations.
        stablehlo_locations: The lowered program with `loc(...)` on each operation.
        before: The imported HLO (`before_optimizations`), without the stack-frame tables.
        after: Optimized HLO, without the stack-frame tables.
        runs: Every run of a pass, in order.
        passes: The passes that changed the module, in order, each with the resulting module.
        buffers: The text of `buffer-assignment.txt`.
        live_ranges: The text of `live-range.txt`.
        memory: The bytes that the executable needs.
        cost: The counted work.
        thunks: The thunks of a GPU executable, in order; empty for other targets. `launches.list_launches` counts
            launches.
        fusion_log: The steps of the GPU's fusion cost model, sorted because their order varies; empty for other
            targets.
        code: The generated code.
        frames: The call chain of each stack frame by id, innermost frame first; an instruction's metadata has the id.
        sources: The text of the project's files that the program comes from, the function's own file first.
        jaxpr_locations: The jaxpr with `# file:line:column (function)` after the first line of each equation.
        memory_report: The text of `memory-usage-report.txt`: the values in memory at the peak, by size.
        error: The compiler's error, or an empty string. After an error, the capture has the compiler's output so far:
            `after` may be empty, and `memory` and `cost`, which come from the executable, are zero.
        times: The times of the compilation, which differ between otherwise equal captures.
        is_stepped: Whether `passes` has the module after each pass that changed it. A capture without passes needs less
            time and memory.
        equations: The jaxpr's equations by part of the program.
        constants: The arrays of more than 1 KiB that the program closes over, largest first. Their values are elided:
            `stablehlo` has `dense_resource<__elided__>` in their place, and HLO has `constant({...})`.
        log: The compiler's messages about its reasons, in order, if they were requested.
        low_level: A TPU's programs below HLO, those of kernels first, if they were requested.
        missing: For a capture from an incomplete dump, the reason why a field is empty or differs from its description,
            by the field's name.
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
    # Defaults are factories because plain defaults would be class attributes, which hide the fields that are read
    # later.
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

    @property
    def is_plan(self) -> bool:
        """True if there is a memory plan or a part of it, but no module of any stage."""
        return self.missing.get("stage") == "none"

    @cached_property
    def unoptimized_module(self) -> Module:
        """The parsed imported HLO or, if that is missing, the first known module after it."""
        if not self.before:
            return self.passes[0].module if self.passes else self.module
        return hlo.parse_module(self.before)

    @cached_property
    def module(self) -> Module:
        """The parsed optimized HLO."""
        return hlo.parse_module(self.after)

    @cached_property
    def instruction_counts(self) -> tuple[int, ...]:
        """The number of instructions in the imported module, and after each pass that changed it."""
        return (len(INSTRUCTION.findall(self.before)), *(change.instruction_count for change in self.passes))

    @cached_property
    def pass_names(self) -> tuple[str, ...]:
        """The passes that changed the module, in order."""
        return tuple(change.name for change in self.passes)

    @property
    def is_dumped(self) -> bool:
        """True if the capture was read from a compiler's dump and not compiled by this package."""
        # Only the reader of dumps records why fields are missing.
        return bool(self.missing)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The project's files in the call chains, sorted."""
        return tuple(sorted({frame.file for chain in self.frames.values() for frame in chain}))

    @cached_property
    def identity(self) -> str:
        """A hash of the outcome without name, sources and times; for a capture that was cached, its cache key."""
        # The module of storage imports this one, so it can only be imported on use.
        from xla_inspect.captured.storage import digest

        # Names, sources and times may differ although the compiler did the same.
        return digest(replace(self, program="", source_file="", source="", sources={}, times=Times()))

    def retold(self, **values: Any) -> Capture:  # noqa: ANN401 - fields of any type, or cached properties
        """Return a copy with new values for some fields or cached properties, without reading the others.

        Other properties must not depend on the new values; this is true of the program's name and source, and the
        identity.
        """
        # A shallow copy shares the readers of deferred fields and calls none of them.
        capture = copy(self)
        capture.__dict__.update(values)
        return capture

    @property
    def own(self) -> Capture:
        """The original of a capture to which `use_lines_of` gave a package's lines; any other capture itself."""
        own: Capture = self.__dict__.get("_own", self)
        return own

    if not TYPE_CHECKING:  # a type checker would allow any attribute

        def __getattr__(self, name: str) -> object:
            """Read the part that contains a deferred field (see `xla_inspect.captured.storage`)."""
            # `self._later` would call this method again without end in a capture that has no such attribute.
            read_part = self.__dict__.get("_later", {}).get(name)
            if read_part is None:
                message = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(message, name=name, obj=self)
            # One part contains several fields; fields that already have a value, such as those of `retold`, keep it.
            for field_name, value in read_part().items():
                self.__dict__.setdefault(field_name, value)
            return self.__dict__[name]

    def __repr__(self) -> str:
        """Return one short line with the program, the target and the outcome instead of the long fields."""
        outcome = f"{len(self.passes)} passes changed the module" if self.is_stepped else "made without passes"
        return f"<Capture of {self.program} for {self.target}: {self.error.partition(chr(10))[0][:80] or outcome}>"

    def _repr_html_(self) -> str:
        """Return the view that `xla_inspect` registers for notebooks."""
        return notebook_view.draw(self)

    def to_json(self) -> str:
        """Return the capture as one line of JSON, which `from_json` reads."""
        from xla_inspect.captured.storage import dump

        return dump(self)

    @classmethod
    def from_json(cls, text: str) -> Capture:
        """Return the capture that `to_json` wrote.

        Raises:
            InspectError: The text is not a capture, or has another format.
        """
        from xla_inspect.captured.storage import load_capture

        return load_capture(text)


class Captures(Mapping[str, Capture]):
    """One program's captures by target, with the reasons for targets that this machine cannot compile for.

    Iteration yields the compiled targets. Looking up a requested target that could not be compiled raises
    `TargetUnavailableError`, so that a page that needs the target shows a gap.

    Args:
        captures: The captures by target.
        missing: The reason why each of the other targets could not be compiled.
        targets: All requested targets, in order.
    """

    def __init__(self, captures: Mapping[str, Capture], missing: Mapping[str, str], targets: tuple[str, ...]) -> None:
        """Store the captures in the order of the requested targets."""
        self.targets = targets
        self.missing = dict(missing)
        self._captures = {target: captures[target] for target in targets if target in captures}

    def __getitem__(self, target: str) -> Capture:
        """Return the capture for a target.

        Raises:
            TargetUnavailableError: The target was requested, but could not be compiled; the error has the reason.
            InspectError: The target was not requested.
        """
        if target in self._captures:
            return self._captures[target]
        if target in self.missing:
            raise TargetUnavailableError(target, self.missing[target])
        message = f"no capture for target {target!r}; there are {', '.join(self.targets) or 'none'}"
        raise InspectError(message)

    def require(self) -> None:
        """Check that all requested targets were compiled.

        Raises:
            TargetUnavailableError: A target could not be compiled, so a check about all of them shows a gap.
        """
        for target in self.targets:
            # A lookup raises the error with the reason.
            self[target]

    @overload
    def get(self, key: str, /) -> Capture | None: ...
    @overload
    def get[T](self, key: str, default: T, /) -> Capture | T: ...
    def get(self, key: str, default: object = None, /) -> object:
        """Return the capture for a target, or the default if there is none."""
        # The inherited method expects a KeyError, but a lookup here raises errors that name the remedy.
        return self._captures.get(key, default)

    def __contains__(self, target: object) -> bool:
        """Return whether there is a capture for a target."""
        # The inherited method would raise the error of a missing target instead of returning False.
        return target in self._captures

    def __iter__(self) -> Iterator[str]:
        """Iterate over the compiled targets."""
        return iter(self._captures)

    def __len__(self) -> int:
        """Return the number of compiled targets."""
        return len(self._captures)
