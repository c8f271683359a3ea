"""The compile of one program for one target, or its recall from the cache, into a capture of every stage."""

from __future__ import annotations

import os
import re
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from time import perf_counter, time
from typing import TYPE_CHECKING

from xla_inspect import jax_private
from xla_inspect.captured import Capture, Code, Cost, Memory, Times
from xla_inspect.compilation import (
    dump_compile,
    lowering,
    object_code,
    pass_runs,
    program_stages,
    without_device,
)
from xla_inspect.dumps import (
    COLLECT,
    Frames,
    Record,
    add_files,
    complete,
    find_changes,
    read_fusion_log,
    read_metadata,
    read_thunks,
    sort_code,
)
from xla_inspect.errors import InspectError
from xla_inspect.targets import name_isa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import jax

    from xla_inspect.compilation.program_stages import CompilableProgram, NamedProgram
    from xla_inspect.dumps import ModuleTexts
    from xla_inspect.targets import Target


def compile_lowered(  # noqa: PLR0913 - what is compiled for what, and how much of it is kept
    program: NamedProgram,
    lowered: CompilableProgram,
    target: Target,
    options: Mapping[str, str | int | bool],
    *,
    passes: bool = True,
    timed: bool = True,
    code: bool = True,
) -> Callable[[], Capture]:
    """Compile a lowered program, and return a function that collects the compiler's output into a capture.

    Raises:
        InspectError: The compiler does not know an option.
        RuntimeError: The compiler failed; the exception's `capture` has the stages completed before the failure.
    """
    folder = dump_compile.Folder()
    recording: pass_runs.Recording | None = None
    start, seconds = time(), 0.0

    def collect(executable: jax.stages.Compiled | None, error: str = "") -> Capture:
        with folder:
            texts, times = dump_compile.read_dump_folder(Path(folder.name))
        how = {"is_stepped": passes, "is_timed": timed, "has_code": code}
        result = Compile(executable, texts, times, recording, error, start, seconds, **how)
        return assemble(program, lowered, target, options, result)

    try:
        placed = lowered.place(target) if code else lowered.place(target, whole=False)
        where = Path(folder.name)
        if timed:
            start_compiler(target)
        with pass_runs.recorded() if timed and target.kind != "tpu" else nullcontext() as recording:
            start, started = time(), perf_counter()
            try:
                with without_device.stand_ins(target, lowered.stablehlo):
                    compilation = dump_compile.compile_with_dumps(
                        placed, target, options, where, passes=passes, code=code
                    )
            finally:
                seconds = perf_counter() - started
        check_devices(program, jax_private.find_devices(compilation), target)
    except RuntimeError as error:
        if reason := dump_compile.explain_no_room():
            folder.cleanup()
            message = f"target {target.name!r}: the compiler needs temporary files, and {reason}"
            raise InspectError(message) from error
        # Without dumps there is no partial capture, and the compiler's own error matters more than that.
        with suppress(InspectError):
            program_stages.add_partial_capture(error, collect(None, str(error)), program)
        raise
    except BaseException:
        folder.cleanup()
        raise
    return partial(collect, compilation)


@cache
def start_compiler(target: Target) -> None:
    """Compile a trivial program once per target, so that later programs' times exclude the compiler's startup."""
    placed = jax_private.place(lowering.start_lowering(target.platform), target.devices()[:1])
    placed.compile(dict(dump_compile.PINNED[target.kind]))


def check_devices(program: NamedProgram, devices: Sequence[jax.Device], target: Target) -> None:
    """Check that an executable was compiled for the target's devices, and so by the target's compiler.

    Raises:
        InspectError: It was compiled for other devices, so its capture would carry the wrong target's name.
    """
    if not {*devices} <= {*target.devices()}:
        others = ", ".join(sorted({str(device.device_kind) for device in devices}))
        message = f"{program.name!r} was compiled for {others} and not for target {target.name!r}; please report this"
        raise InspectError(message)


@dataclass(frozen=True)
class Compile:
    """The output of one compile: executable, dumped texts, their write times, profiler recording, error and duration.

    If the compiler failed, `error` has its message and `executable` is None. The start `begun`, like `written`, is by
    the system clock. The flags tell which parts were requested: modules between passes, their times, generated code.
    """

    executable: jax.stages.Compiled | None
    texts: ModuleTexts
    written: Mapping[str, float]
    recording: pass_runs.Recording | None
    error: str
    begun: float
    seconds: float
    is_stepped: bool
    is_timed: bool
    has_code: bool


def assemble(
    program: NamedProgram,
    lowered: CompilableProgram,
    target: Target,
    options: Mapping[str, str | int | bool],
    output: Compile,
) -> Capture:
    """Return the capture built from the output of a compile; raise an `InspectError` if the compiler left no dump."""
    texts, executable = output.texts, output.executable
    unoptimized, optimized = texts.find("before_optimizations.txt"), texts.find("after_optimizations.txt")
    if not (unoptimized and (optimized or executable is None)):
        why = (
            "does XLA_FLAGS switch dumps off?"
            if "xla_dump" in os.environ.get("XLA_FLAGS", "")
            else "was the disk full, or did another program remove them meanwhile? Run it again"
        )
        message = f"target {target.name!r}: the compiler left no dump of {program.name!r}; {why}"
        raise InspectError(message)
    frames = Frames()
    before, after = frames.clean(unoptimized), frames.clean(optimized)
    record = read_record(output, before)
    return Capture(
        program=program.name,
        target=target.name,
        versions=dict(target.versions),
        options={**options, **({"xla_cpu_max_isa": name_isa()} if target.kind == "cpu" else {})},
        source_file=program.source_file,
        source=program.source,
        jaxpr=lowered.jaxpr,
        jaxpr_locations=lowered.jaxpr_locations if output.has_code else "",
        stablehlo=lowered.stablehlo,
        stablehlo_locations=lowered.stablehlo_locations,
        before=before,
        after=after,
        runs=record.runs,
        passes=find_changes(texts.passes, before, record.runs, frames),
        buffers=texts.find("after_optimizations-buffer-assignment.txt"),
        live_ranges=texts.find("after_optimizations-live-range.txt"),
        memory=measure_memory(executable) if executable else Memory(0, 0, 0, 0, 0, 0),
        cost=measure_cost(executable, optimized) if executable else Cost(0, 0, 0, "", {}),
        thunks=read_thunks(texts.find("thunk_sequence.txt"), texts.find("thunk_metadata.txt")),
        fusion_log=read_fusion_log(texts.find("priority_fusion_dump.txt")),
        code=collect_code(target, texts, executable) if output.has_code else (),
        frames=frames.chains,
        memory_report=texts.find("after_optimizations-memory-usage-report.txt"),
        error=output.error,
        times=Times(
            lowered.traced.seconds,
            lowered.seconds,
            output.seconds,
            record.seconds,
            complete(record.phases, output.seconds),
        ),
        is_stepped=output.is_stepped,
        equations=lowered.traced.equations,
        constants=lowered.traced.constants,
    )


def collect_code(target: Target, texts: ModuleTexts, executable: jax.stages.Compiled | None) -> tuple[Code, ...]:
    """Return the generated code in the dumped texts, with the assembly of object files or of the executable."""
    pieces: Iterable[Code] = COLLECT[target.kind](texts)
    kernels: Iterable[Code] = ()
    if target.platform == "rocm":
        # An AMD GPU's compiler dumps no machine code, so it is taken from the executable. The compiler keeps the code
        # of earlier compiles in this process; for a kernel among it, it dumps the IR before LLVM's passes as the IR
        # after them. Since nothing tells the two apart, the latter is left out.
        pieces = [code for code in pieces if code.language != "llvm"]
        kernels = object_code.collect_kernels(jax_private.serialize(executable) if executable else b"")
    return sort_code((*pieces, *object_code.collect_assembly(texts.objects), *kernels))


def read_record(output: Compile, before: str) -> Record:
    """Return the runs of passes with durations, and the compile's phases; an empty record if no times were requested.

    A TPU compile writes a complete record of its passes, and XLA's profiler does not see it. A CPU compile writes no
    record, and a GPU compile's record ends at scheduling, so the profiler records both. The profiler takes a tenth of a
    large compile's time and a third of its memory, so it runs only on request.
    """
    if not output.is_timed:
        return Record()
    if output.recording is None:
        record = read_metadata(output.texts.metadata)
        end = output.begun + output.seconds
        return replace(record, phases=add_files(record, output.written, end))
    name = re.match(r"HloModule ([^\s,]+)", before)
    return pass_runs.read_recording(output.recording, name[1] if name else "")


def measure_memory(compiled: jax.stages.Compiled) -> Memory:
    """Return the executable's own memory statistics in bytes on one device, or zeros if it has none."""
    stats = compiled.memory_analysis()
    if stats is None:
        return Memory(0, 0, 0, 0, 0, 0)
    return Memory(
        arguments=stats.argument_size_in_bytes,
        outputs=stats.output_size_in_bytes,
        aliased=stats.alias_size_in_bytes,
        temporaries=stats.temp_size_in_bytes,
        generated_code=stats.generated_code_size_in_bytes,
        peak=getattr(stats, "peak_memory_in_bytes", 0),
    )


def measure_cost(compiled: jax.stages.Compiled, optimized: str) -> Cost:
    """Return the executable's own cost analysis (nothing is run) or, without one, jaxlib's of the optimized text."""
    figures, source = compiled.cost_analysis(), "executable"
    if not figures:
        figures, source = jax_private.count_work(optimized), "jaxlib HLO cost analysis"
    details = {name: float(value) for name, value in sorted(figures.items())}
    return Cost(
        flops=details.get("flops", 0.0),
        bytes_accessed=details.get("bytes accessed", 0.0),
        transcendentals=details.get("transcendentals", 0.0),
        source=source,
        details=details,
    )
