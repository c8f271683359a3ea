"""The process that compiles for one kind of target, program after program: no code of a reader's runs in it."""

from __future__ import annotations

import base64
import gc
import tempfile
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.play.failures import make_failure
from xla_inspect.play.pipe_messages import read_messages

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jax

    from xla_inspect.captured import Capture, Constant, Equations
    from xla_inspect.play.pipe_messages import Sender
    from xla_inspect.targets import Target

WARM = {"cpu": "cpu", "gpu": "h100", "tpu": "tpu-v5e"}
"""For which target each kind of compiler is tried before anything is asked of it."""


@dataclass(frozen=True)
class _Traced:
    """What a capture holds of how a program was traced."""

    seconds: float
    equations: tuple[Equations, ...]
    constants: tuple[Constant, ...]


class SentProgram:
    """A program that another process lowered, in the form in which `compile_lowered` takes programs and lowered ones.

    Args:
        record: What the process sent.
        sources: The reader's files, each with its text.
    """

    def __init__(self, record: Mapping[str, Any], sources: Mapping[str, str]) -> None:
        """Read nothing of the module yet."""
        from xla_inspect.captured import Constant, Equations

        self.name, self.source_file = str(record["program"]), str(record["source_file"])
        self.source = sources.get(self.source_file, "")
        self.sources = dict(sources)
        self.jaxpr, self.jaxpr_locations = str(record["jaxpr"]), str(record["jaxpr_locations"])
        self.stablehlo, self.stablehlo_locations = str(record["stablehlo"]), str(record["stablehlo_locations"])
        traced, self.seconds = map(float, record["seconds"])
        self.traced = _Traced(
            traced,
            tuple(Equations(**each) for each in record["equations"]),
            tuple(Constant(**{**each, "shape": tuple(each["shape"])}) for each in record["constants"]),
        )
        self._module = base64.b64decode(record["module"])

    def read_sources(self, _: object) -> dict[str, str]:
        """Return the reader's files."""
        return self.sources

    def place(self, target: Target) -> jax.stages.Lowered:
        """Return what can be compiled for a target's first device."""
        from xla_inspect import jax_private

        stage = copy(self._stage(target))
        stage._lowering = copy(stage._lowering)  # noqa: SLF001 - JAX takes no module that it did not lower itself
        stage._lowering._hlo = self._read  # type: ignore[attr-defined]  # noqa: SLF001 - likewise
        return jax_private.place(stage, target.devices()[:1])

    @cached_property
    def _read(self) -> Any:  # noqa: ANN401 - MLIR's own
        from xla_inspect import jax_private

        plain: Any = _lower_plain((), ()).compiler_ir("stablehlo")
        with plain.context:
            return jax_private.load_mlir().Module.parse(self._module)

    def _stage(self, target: Target) -> jax.stages.Lowered:
        """Return a lowered program with arguments and results of the same shapes, whatever their types."""
        from xla_inspect import jax_private
        from xla_inspect.compilation import PLATFORMS

        ir = jax_private.load_mlir()
        main = next(each for each in self._read.body if ir.StringAttr(each.attributes["sym_name"]).value == "main")
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        shapes = [
            tuple(tuple(ir.RankedTensorType(each).shape) for each in types) for types in (kind.inputs, kind.results)
        ]
        return _lower_plain(shapes[0], shapes[1], PLATFORMS[target.kind])


def _lower_plain(
    taken: tuple[tuple[int, ...], ...], given: tuple[tuple[int, ...], ...], platform: str = "cpu"
) -> jax.stages.Lowered:
    import jax
    import jax.numpy as jnp

    def program(*_: jax.Array) -> list[jax.Array]:
        return [jnp.zeros(shape, jnp.float32) for shape in given]

    shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in taken]
    stage: jax.stages.Lowered = jax.jit(program, keep_unused=True).trace(*shapes).lower(lowering_platforms=(platform,))
    return stage


def run(order: dict[str, Any], requests: int, sender: Sender) -> None:
    """Compile what is asked for until the pipe is closed.

    Args:
        order: The process's `folder`, `mark` and `kind`.
        requests: The pipe that jobs come through, each with a number.
        sender: Where messages go: `ready`, and for each job `begun`, `lowered`, `whole` or `failed`, and `idle`.
    """
    from xla_inspect.compilation import place_dumps

    folder = Path(order["folder"])
    tempfile.tempdir = str(folder)
    place_dumps(folder)
    _warm(order["kind"])
    sender.send({"kind": "ready"})
    jobs = read_messages(requests, order["mark"])
    for job in jobs:
        answer = {"job": job["job"]}
        sender.send({"kind": "begun", **answer})
        try:
            if "kept" in job["work"]:
                sender.send({"kind": "details", **answer, "data": _describe_kept(Path(job["work"]["kept"]))})
            else:
                _compile(job["work"], answer, sender)
        except InspectError as error:
            sender.send({"kind": "failed", **answer, "failure": make_failure("compiler", str(error))})
        except MemoryError as error:
            sender.send({"kind": "failed", **answer, "failure": make_failure("memory", str(error) or "no memory")})
        except Exception as error:  # noqa: BLE001 - the compiler's, or of what was sent
            text = str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"
            sender.send({"kind": "failed", **answer, "failure": make_failure("compiler", text)})
        gc.collect()
        sender.send({"kind": "idle", **answer})


def _warm(kind: str) -> None:
    """Let the compiler load what it loads when it compiles first."""
    from xla_inspect.compilation import PLATFORMS, compile_lowered, disassemble, pin_options, sweep_dumps  # noqa: F401 - imported before it is needed
    from xla_inspect.play.edit_process import write_module
    from xla_inspect.report.explorer import describe_capture
    from xla_inspect.targets import find

    target = find(WARM[kind])
    if target.obstacle:
        return
    shape = ((8, 8),)
    record: dict[str, Any] = dict.fromkeys(
        ("jaxpr", "jaxpr_locations", "stablehlo", "stablehlo_locations", "source_file"), ""
    )
    module = write_module(_lower_plain(shape, shape, PLATFORMS[kind]))
    record |= {"program": "warm", "equations": [], "constants": [], "seconds": [0, 0]}
    sent = SentProgram({**record, "module": base64.b64encode(module)}, {})
    describe_capture(compile_lowered(sent, sent, target, pin_options(target))(), code=True)  # type: ignore[arg-type]  # it has what is asked of both


def _compile(work: dict[str, Any], answer: dict[str, Any], sender: Sender) -> None:
    from xla_inspect.analysis import list_launches
    from xla_inspect.captured import pack
    from xla_inspect.compilation import compile_lowered, pin_options
    from xla_inspect.report.explorer import describe_capture
    from xla_inspect.targets import find

    target = find(work["target"])
    sent = SentProgram(work["record"], work["sources"])
    seconds = {"trace": sent.traced.seconds, "lower": sent.seconds}
    sender.send({"kind": "lowered", **answer, "data": describe_lowered(sent, target), "seconds": seconds})
    options = {**pin_options(target), **work["options"]}
    read = compile_lowered(sent, sent, target, options)  # type: ignore[arg-type]  # as above
    capture: Capture = read().retold(sources=sent.sources)
    started = perf_counter()
    data = describe_capture(capture, code=True)
    seconds |= {"compile": capture.times.compiling, "describe": perf_counter() - started}
    seen = {"kernels": len(list_launches(capture)), "opcodes": dict(sorted(capture.module.opcode_counts().items()))}
    sender.send({"kind": "whole", **answer, "data": data, "seconds": seconds, "seen": seen})
    Path(work["keep"]).write_bytes(pack(capture))


def _describe_kept(path: Path) -> dict[str, Any]:
    from xla_inspect.captured import unpack
    from xla_inspect.report.explorer import describe_details

    return describe_details(unpack(path.read_bytes()), code=True)


def describe_lowered(program: SentProgram, target: Target) -> dict[str, Any]:
    """Return what the explorer can show of a program before it is compiled: in the form of `describe_capture`."""
    from xla_inspect.analysis import read_jaxpr_lines, read_stablehlo_lines
    from xla_inspect.report.explorer import VERSION
    from xla_inspect.targets import title

    files = {file: number for number, file in enumerate(program.sources)}
    places: dict[tuple[int, int], int] = {}

    def write(lines: Any) -> list[tuple[str, int]]:  # noqa: ANN401 - lines, each with its place
        return [
            (text, places.setdefault((files[place[0]], place[1]), len(places)) if place and place[0] in files else -1)
            for text, place in lines
        ]

    told = {
        "version": VERSION,
        "program": program.name,
        "target": target.name,
        "title": title(target.name),
        "versions": dict(sorted(target.versions.items())),
        "sources": [[file, text.splitlines()] for file, text in program.sources.items()],
        "jaxpr": write(read_jaxpr_lines(program.jaxpr_locations)),
        "stablehlo": write(read_stablehlo_lines(program.stablehlo_locations)),
    }
    return {**told, "places": list(places)}
