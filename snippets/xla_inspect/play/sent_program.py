"""Lowered programs in a form that one process can send to another, which compiles them."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from xla_inspect import jax_private
from xla_inspect.captured import Constant, Equations  # noqa: TC001

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.compilation import Lowered, Program
    from xla_inspect.targets import Target


@dataclass(frozen=True)
class SentTrace:
    """The seconds, equations and constants of a trace, which another process needs; see `TracedProgram`."""

    seconds: float
    equations: tuple[Equations, ...] = ()
    constants: tuple[Constant, ...] = ()


@dataclass(frozen=True)
class SentProgram:
    """A lowered program that can be pickled: a `NamedProgram` and a `CompilableProgram`.

    Attributes:
        name: The program's name.
        source_file: The name of the file with the function.
        sources: The texts of the reader's files, by name.
        bytecode: The MLIR module with its locations.
        jaxpr: The text of the jaxpr.
        jaxpr_locations: The same with the place of each line.
        stablehlo: The text of the StableHLO module.
        stablehlo_locations: The same with locations.
        traced: The facts about its trace.
        seconds: The time that lowering took.
    """

    name: str
    source_file: str
    sources: dict[str, str]
    bytecode: bytes
    jaxpr: str = ""
    jaxpr_locations: str = ""
    stablehlo: str = ""
    stablehlo_locations: str = ""
    traced: SentTrace = SentTrace(0.0)
    seconds: float = 0.0

    @property
    def source(self) -> str:
        """The text of the program's source file, or an empty string if it is unknown."""
        return self.sources.get(self.source_file, "")

    def describe_sources(self, _: Capture) -> dict[str, Any]:
        """Return the fields of a capture that contain the names and texts of the reader's files."""
        return {"source_file": self.source_file, "source": self.source, "sources": self.sources}

    def place(self, target: Target, *, whole: bool = True) -> jax.stages.Lowered:
        """Return the program as JAX's lowered stage, to be compiled for a target's first device."""
        del whole
        ir = jax_private.load_mlir()
        # A module may contain private functions before the entry function, whose name is always `main`.
        main = next(part for part in self._module.body if ir.StringAttr(part.attributes["sym_name"]).value == "main")
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        arguments, results = (
            tuple(tuple(ir.RankedTensorType(value).shape) for value in values) for values in (kind.inputs, kind.results)
        )
        # JAX compiles only its own lowered programs, so the module replaces that of a program with the same shapes.
        stage = jax_private.replace_module(lower_zeros(arguments, results, target.platform), self._module)
        return jax_private.place(stage, target.devices()[:1])

    @cached_property
    def _module(self) -> Any:  # noqa: ANN401 - MLIR's own
        # JAX creates contexts with all of its dialects loaded, so a trivial program lends its context to the parser.
        plain: Any = lower_zeros((), (), "cpu").compiler_ir("stablehlo")
        with plain.context:
            return jax_private.load_mlir().Module.parse(self.bytecode)


def pack_program(program: Program, lowered: Lowered, sources: dict[str, str]) -> SentProgram:
    """Return a lowered program in a form that can be pickled."""
    traced = lowered.traced
    return SentProgram(
        program.name,
        program.source_file,
        sources,
        write_bytecode(lowered.stage),
        lowered.jaxpr,
        lowered.jaxpr_locations,
        lowered.stablehlo,
        lowered.stablehlo_locations,
        SentTrace(traced.seconds, traced.equations, traced.constants),
        lowered.seconds,
    )


def write_bytecode(stage: jax.stages.Lowered) -> bytes:
    """Return a lowered program as MLIR bytecode, including its source locations."""
    out = io.BytesIO()
    module: Any = stage.compiler_ir("stablehlo")
    module.operation.write_bytecode(out)
    return out.getvalue()


def lower_zeros(
    arguments: tuple[tuple[int, ...], ...], results: tuple[tuple[int, ...], ...], platform: str
) -> jax.stages.Lowered:
    """Return a lowered program that ignores its arguments and returns zeros; all arrays are float32."""

    def program(*_: jax.Array) -> list[jax.Array]:
        return [jnp.zeros(shape, jnp.float32) for shape in results]

    # JAX would drop arguments that no result depends on unless they are kept explicitly.
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in arguments]
    stage: jax.stages.Lowered = jax.jit(program, keep_unused=True).trace(*shapes).lower(lowering_platforms=(platform,))
    return stage
