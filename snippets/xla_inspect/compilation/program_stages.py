"""A traced program and a lowered program, which are JAX's output before any compiler runs, with their texts."""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from xla_inspect import jax_private
from xla_inspect.compilation import meshes, program_contents

if TYPE_CHECKING:
    from pathlib import Path

    import jax

    from xla_inspect.captured import Capture, Constant, Equations
    from xla_inspect.targets import Target

# JAX prints the source location after each equation in this form.
LOCATED = re.compile(r"# (.+?)(:\d+:\d+ \(.*\))$", re.MULTILINE)

MOST, ELIDED = 256, "dense_resource<__elided__>"
"""The maximum number of elements of a printed literal (1 KiB of float32), and MLIR's placeholder for larger ones."""


class NamedProgram(Protocol):
    """The name and the source files of a program, as a compile needs them."""

    @property
    def name(self) -> str:
        """The name of the function."""

    @property
    def source_file(self) -> str:
        """The name of the program's file, as locations use it, or an empty string."""

    @property
    def source(self) -> str:
        """The text of that file, or an empty string."""

    def describe_sources(self, capture: Capture) -> dict[str, Any]:
        """Return the capture fields with the names and texts of the source files."""


def add_partial_capture(error: RuntimeError, failed: Capture, program: NamedProgram) -> None:
    """Set an error's `capture`, the compiler's output before the error, with the program's sources."""
    error.capture = failed.retold(program=program.name, **program.describe_sources(failed))  # type: ignore[attr-defined]  # added
    error.add_note("What the compiler left until then is this error's `capture`, an xla_inspect.Capture.")


class TracedProgram(Protocol):
    """The facts about a trace that a capture stores: its duration, equations and large constants."""

    @property
    def seconds(self) -> float:
        """The duration of the trace in seconds."""

    @property
    def equations(self) -> tuple[Equations, ...]:
        """The number of the jaxpr's equations by part of the program."""

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The large arrays that the program closes over."""


class CompilableProgram(Protocol):
    """A lowered program with its texts, from any process; `Lowered` is the implementation for this process."""

    @property
    def jaxpr(self) -> str:
        """The traced program as JAX prints it."""

    @property
    def jaxpr_locations(self) -> str:
        """The text of the jaxpr with the source location of each equation."""

    @property
    def stablehlo(self) -> str:
        """The text of the lowered program without locations."""

    @property
    def stablehlo_locations(self) -> str:
        """The text of the lowered program with locations."""

    @property
    def traced(self) -> TracedProgram:
        """The facts about the trace."""

    @property
    def seconds(self) -> float:
        """The duration of the lowering in seconds."""

    def place(self, target: Target, *, whole: bool = True) -> jax.stages.Lowered:
        """Return the program ready to be compiled for a target's devices; it is not compiled yet."""


@dataclass(frozen=True)
class Traced:
    """A traced program, before it is lowered for any target.

    Attributes:
        stage: JAX's own `Traced`.
        project: The folder that source file names are relative to.
        seconds: The duration of tracing.
    """

    stage: jax.stages.Traced
    project: Path
    seconds: float

    @cached_property
    def text(self) -> str:
        """The jaxpr as JAX prints it, without terminal colours."""
        return str(self.stage.jaxpr.pretty_print(use_color=False))

    @cached_property
    def equations(self) -> tuple[Equations, ...]:
        """The number of the jaxpr's equations by part of the program."""
        return program_contents.list_equations(self.stage.jaxpr.jaxpr)

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """The large arrays that the program closes over."""
        return program_contents.list_constants(
            self.stage.jaxpr, lambda file: re.sub(prefix_pattern(self.project), "", file)
        )

    @cached_property
    def located(self) -> str:
        """The jaxpr with the source location of each equation."""
        return LOCATED.sub(
            partial(_name_file, self.project), self.stage.jaxpr.pretty_print(source_info=True, use_color=False)
        )


@dataclass(frozen=True)
class Lowered:
    """A program traced and lowered for one kind of target.

    Attributes:
        stage: JAX's own `Lowered`.
        traced: The traced program that it was lowered from.
        devices: The devices of the mesh that it was lowered under; if empty, any device of the kind can run it.
        seconds: The duration of lowering.
    """

    stage: jax.stages.Lowered
    traced: Traced
    devices: tuple[jax.Device, ...]
    seconds: float

    @property
    def jaxpr(self) -> str:
        """The traced program as JAX prints it."""
        return self.traced.text

    @property
    def jaxpr_locations(self) -> str:
        """The jaxpr with the source location of each equation."""
        return self.traced.located

    @cached_property
    def stablehlo(self) -> str:
        """The text of the lowered program without locations and without large literals."""
        return _print(self.stage, with_locations=False)

    @cached_property
    def stablehlo_locations(self) -> str:
        """The text of the lowered program with `loc(...)` on each operation, without large literals."""
        return _print(self.stage, with_locations=True)

    @cached_property
    def literals(self) -> str:
        """A hash of the whole program with the literals that the texts omit, or an empty string if they omit none."""
        if ELIDED not in self.stablehlo:
            # The texts are complete, so they already distinguish the program from any other.
            return ""
        writer = _Hasher()
        module: Any = self.stage.compiler_ir("stablehlo")
        # Bytecode contains all literals, and the hash is computed while it is written, so it takes no memory.
        module.operation.write_bytecode(writer)
        return writer.hash.hexdigest()

    def place(self, target: Target, *, whole: bool = True) -> jax.stages.Lowered:
        """Return the program ready to be compiled for a target's devices, after printing all of its texts.

        The texts are printed first because compiles for other targets share the module, and a capture may be built in
        another thread during a compile; it must not access the module then. The target's devices replace the devices in
        the program's shardings (see `meshes.find_devices`). A program without shardings gets the target's first device.

        Args:
            target: The target.
            whole: Whether to print the jaxpr with source locations too.

        Raises:
            InspectError: The program uses another number of devices than the target has.
        """
        self.stablehlo, self.stablehlo_locations, self.literals  # noqa: B018 - each is kept
        self.jaxpr  # noqa: B018
        if whole:
            self.jaxpr_locations  # noqa: B018
        return jax_private.place(self.stage, self.devices or meshes.find_devices(self.stage, target))


class _Hasher:
    """A write-only file that stores only a hash of the data."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return len(data)


def _print(stage: jax.stages.Lowered, *, with_locations: bool) -> str:
    """Return a lowered program as `stage.as_text` does, without literals of more than `MOST` elements."""
    out = io.StringIO()
    module: Any = stage.compiler_ir("stablehlo")
    module.operation.print(file=out, enable_debug_info=with_locations, large_elements_limit=MOST)
    return out.getvalue()


def prefix_pattern(project: Path) -> str:
    """Return the regular expression of the prefix to drop from a source file's path.

    A library file keeps its path below `site-packages`, a project file its path below the project, and any other file
    only its base name.
    """
    # The pattern accepts both separators, because Windows paths may contain either of them.
    root = r"[/\\]".join(map(re.escape, str(project).rstrip("/\\").replace("\\", "/").split("/")))
    # The first alternative that matches counts, so a library in an environment inside the project is a library.
    return rf"^(?:.*[/\\](?:site|dist)-packages[/\\]|{root}[/\\]|.*[/\\])"


def _name_file(project: Path, mark: re.Match[str]) -> str:
    """Return the comment `# FILE:LINE:COLUMN (FUNCTION)` after an equation, with FILE shortened as in other texts."""
    return f"# {re.sub(prefix_pattern(project), '', mark[1])}{mark[2]}"
