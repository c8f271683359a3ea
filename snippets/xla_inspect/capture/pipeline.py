"""Run one program through one compiler, and collect every stage."""

from __future__ import annotations

import logging
import re
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.capture import cache, code, dumps, kernels, lowering, modules, private, runs
from xla_inspect.capture.targets import name_isa, settle
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.hlo.record import Capture, Cost, Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import jax

    from xla_inspect.capture.targets import Target
    from xla_inspect.hlo.record import PassRun


log = logging.getLogger("xla_inspect")


def capture_program(
    program: lowering.Program, target: Target, options: Mapping[str, str | int | bool]
) -> Callable[[], Capture]:
    """Compile one program for one target unless the cache has it, and return what reads the capture of it.

    What is returned needs none of JAX's settings, so it may run in another thread, beside the next compile.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: The compiler does not know an option, or (when the capture is read) left no dump.
    """
    if target.obstacle:
        raise TargetUnavailableError(target.name, target.obstacle)
    settle()
    asked = {**dumps.PINNED[target.kind], **options}
    with lowering.settled(program.project):
        read = find_capture(program, target, asked)

    def name() -> Capture:
        found = read()
        # What the key leaves out: a file may have changed where the program in it did not.
        return found.retold(
            program=program.name,
            source_file=program.source_file,
            source=program.source,
            sources=program.read_sources(found.files),
        )

    return name


def find_capture(
    program: lowering.Program, target: Target, options: Mapping[str, str | int | bool]
) -> Callable[[], Capture]:
    """Return what gives the capture of a program: found in the cache, or compiled and kept there.

    What is compiled is lowered for the target's device, and that text is the key. It is looked for by the text for
    the target's kind first, which loads no compiler and is the same for most programs; where it is not, that is a miss.
    """
    text = lowering.lower_for_kind(program, target)
    key = cache.make_key(text, target, options)
    found = cache.load(key)
    if found is None:
        lowered = lowering.lower_for_device(program, target)
        exact = cache.make_key(lowered, target, options)
        found = cache.load(exact) if exact != key else None
    if found is not None:
        known = found
        return lambda: known
    log.info("compiling %s for %s", program.name, target.name)
    read = compile_lowered(program, lowered, target, options)

    def keep() -> Capture:
        made = read().retold(identity=exact)
        cache.store(exact, made)
        return made

    return keep


def compile_lowered(
    program: lowering.Program, lowered: lowering.Lowered, target: Target, options: Mapping[str, str | int | bool]
) -> Callable[[], Capture]:
    """Compile a lowered program, and return what collects all that the compiler left."""
    folder = dumps.make_folder()
    try:
        with nullcontext() if target.kind == "tpu" else runs.recorded() as recording:
            compiled = dumps.compile_with_dumps(lowered.stage, target, options, Path(folder.name))
    except BaseException:
        folder.cleanup()
        raise

    def collect() -> Capture:
        with folder:
            found = dumps.read(Path(folder.name))
        return assemble(program, lowered, target, options, Compile(compiled, found, recording))

    return collect


@dataclass(frozen=True)
class Compile:
    """What one compile left: the executable, the dumps, and the profiler's record of its passes."""

    executable: jax.stages.Compiled
    dumps: dumps.Dumps
    recording: runs.Recording | None


def assemble(
    program: lowering.Program,
    lowered: lowering.Lowered,
    target: Target,
    options: Mapping[str, str | int | bool],
    made: Compile,
) -> Capture:
    """Return the capture that a compile amounts to."""
    found, compiled = made.dumps, made.executable
    unoptimized, optimized = found.find("before_optimizations.txt"), found.find("after_optimizations.txt")
    if not (unoptimized and optimized):
        message = f"target {target.name!r}: the compiler left no dump of {program.name!r}; is dumping off in XLA_FLAGS?"
        raise InspectError(message)
    frames = modules.Frames()
    before, after = frames.clean(unoptimized), frames.clean(optimized)
    passes = list_runs(found, made.recording, before)
    return Capture(
        program=program.name,
        target=target.name,
        versions=dict(target.versions),
        options={**options, **({"xla_cpu_max_isa": name_isa()} if target.kind == "cpu" else {})},
        source_file=program.source_file,
        source=program.source,
        jaxpr=lowered.jaxpr,
        jaxpr_locations=lowered.jaxpr_locations,
        stablehlo=lowered.stablehlo,
        stablehlo_locations=lowered.stablehlo_locations,
        before=before,
        after=after,
        runs=passes,
        passes=modules.find_changes(found.passes, before, passes, frames),
        buffers=found.find("after_optimizations-buffer-assignment.txt"),
        live_ranges=found.find("after_optimizations-live-range.txt"),
        memory=measure_memory(compiled),
        cost=measure_cost(compiled, optimized),
        kernels=(
            kernels.read_thunks(found.find("thunk_sequence.txt"), found.find("thunk_metadata.txt"), after)
            if target.kind == "gpu"
            else kernels.list_entry(after)
        ),
        fusion_log=kernels.read_fusion_log(found.find("priority_fusion_dump.txt")),
        code=COLLECT[target.kind](found),
        frames=frames.chains,
    )


COLLECT = {"cpu": code.collect_cpu, "gpu": code.collect_gpu, "tpu": code.collect_tpu}


def list_runs(found: dumps.Dumps, recording: runs.Recording | None, before: str) -> tuple[PassRun, ...]:
    """Return every run of a pass.

    A TPU compile writes a complete record of them and is not seen by XLA's profiler; a CPU compile writes none, and
    that of a GPU compile ends where scheduling begins.
    """
    if recording is None:
        return runs.read_metadata(found.metadata)
    name = re.match(r"HloModule ([^\s,]+)", before)
    return runs.read_recording(recording, name[1] if name else "")


def measure_memory(compiled: jax.stages.Compiled) -> Memory:
    """Return the bytes that the executable needs on one device."""
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
    """Return the executable's own cost analysis or, where it has none, jaxlib's of the optimized module."""
    counted, source = compiled.cost_analysis(), "executable"
    if not counted:
        counted, source = private.count_work(optimized), "jaxlib HLO cost analysis"
    details = {name: float(value) for name, value in sorted(counted.items())}
    return Cost(
        flops=details.get("flops", 0.0),
        bytes_accessed=details.get("bytes accessed", 0.0),
        transcendentals=details.get("transcendentals", 0.0),
        source=source,
        details=details,
    )
