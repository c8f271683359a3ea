"""The worker processes of the playground: one compiles for a kind of target, one outlines code without running it."""

from __future__ import annotations

import contextlib
import gc
import pickle
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import list_launches, read_jaxpr_lines, read_stablehlo_lines
from xla_inspect.captured import Capture, pack, unpack
from xla_inspect.compilation import adapt_options, compile_lowered, disassemble, pin_options, place_dumps  # noqa: F401 - loaded before the fork
from xla_inspect.errors import InspectError
from xla_inspect.play.code_outline import outline
from xla_inspect.play.failures import make_failure
from xla_inspect.play.sent_program import SentProgram, lower_zeros, write_bytecode
from xla_inspect.report.explorer import VERSION, describe_capture, describe_details
from xla_inspect.targets import find_target, title

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from xla_inspect.targets import Target

    Send = Callable[[dict[str, Any]], None]

WARM = {"cpu": "cpu", "gpu": "h100", "tpu": "tpu-v5e"}
"""The target for which each kind of compiler compiles a first program before it gets a job."""


def run_outliner(connection: Connection) -> None:
    """Answer jobs from a pipe with the outlines of code; code that crashes Python's parser ends only this process."""
    _do_jobs(connection, lambda work, send: send({"kind": "outline", "data": outline(**work)}))


def run_compiler(connection: Connection, kind: str) -> None:
    """Answer jobs from a pipe until it closes; each compiles a program, or describes the details of a stored capture.

    Args:
        connection: The pipe that delivers jobs; for each, it returns `begun`, then `lowered`, `whole`, `details` or
            `failed`, and finally `idle`.
        kind: The kind of target to compile for.
    """
    place_dumps(Path.cwd())
    # The first compilation loads the compiler, so a small program is compiled before the reader waits for a result.
    target = find_target(WARM[kind])
    # A process for a kind without its compiler still answers jobs, each with the reason.
    if not target.obstacle:
        shape = ((8, 8),)
        program = SentProgram("warm", "", {}, write_bytecode(lower_zeros(shape, shape, target.platform)))
        describe_capture(compile_lowered(program, program, target, pin_options(target))(), code=True)
    _do_jobs(connection, _compile)


def _do_jobs(connection: Connection, do: Callable[[dict[str, Any], Send], None]) -> None:
    # A closed pipe means that the playground has ended, so this process ends too.
    with contextlib.suppress(EOFError):
        while work := connection.recv():
            connection.send({"kind": "begun"})
            try:
                do(work, connection.send)
            except Exception as error:  # noqa: BLE001 - of the compiler, or of the program
                kind = "memory" if isinstance(error, MemoryError) else "compiler"
                is_plain = isinstance(error, InspectError | RuntimeError | MemoryError)
                text = str(error) if is_plain else f"{type(error).__name__}: {error}"
                connection.send({"kind": "failed", "failure": make_failure(kind, text)})
            # The garbage is collected before the process reports that it is idle, so it does not delay the next job.
            gc.collect()
            connection.send({"kind": "idle"})


def _compile(work: dict[str, Any], send: Send) -> None:
    """Compile a program and store its capture, or describe the details of a stored capture, and send the results."""
    if "stored" in work:
        data = describe_details(unpack(work["stored"].read_bytes()), code=True)
        send({"kind": "details", "data": data})
        return
    target, program = find_target(work["target"]), pickle.loads(work["program"])  # noqa: S301 - of the same user's process
    seconds = {"trace": program.traced.seconds, "lower": program.seconds}
    # The page shows the jaxpr and StableHLO while the compiler still runs.
    send({"kind": "lowered", "data": describe_lowered(program, target), "seconds": seconds})
    options = adapt_options(target, program.stablehlo, {**pin_options(target), **work["options"]})
    finish = compile_lowered(program, program, target, options)
    capture = finish().retold(sources=program.sources)
    # The result is sent before the capture is stored, so the page does not wait for the file to be written.
    send({"kind": "whole", **describe_whole(capture, seconds)})
    work["store"].write_bytes(pack(capture))


def describe_whole(capture: Capture, seconds: dict[str, float]) -> dict[str, Any]:
    """Return a dict with a capture's `data` for the explorer, durations in `seconds`, and `seen`, for copied tests."""
    started = perf_counter()
    data = describe_capture(capture, code=True)
    seconds = {**seconds, "compile": capture.times.compiling, "describe": perf_counter() - started}
    numbers = {"kernels": len(list_launches(capture)), "opcodes": dict(sorted(capture.module.opcode_counts().items()))}
    return {"data": data, "seconds": seconds, "seen": numbers}


def describe_lowered(program: SentProgram, target: Target) -> dict[str, Any]:
    """Return the part of `describe_capture`'s data that a program has before it is compiled."""
    files = {file: number for number, file in enumerate(program.sources)}
    # Places are numbered in the order of their first use; -1 stands for lines without a place in the reader's files.
    places: dict[tuple[int, int], int] = {}

    def write(lines: Any) -> list[tuple[str, int]]:  # noqa: ANN401 - lines, each with its place
        return [
            (text, places.setdefault((files[place[0]], place[1]), len(places)) if place and place[0] in files else -1)
            for text, place in lines
        ]

    data = {
        "version": VERSION,
        "program": program.name,
        "target": target.name,
        "title": title(target.name),
        "versions": dict(sorted(target.versions.items())),
        "sources": [[file, text.splitlines()] for file, text in program.sources.items()],
        "jaxpr": write(read_jaxpr_lines(program.jaxpr_locations)),
        "stablehlo": write(read_stablehlo_lines(program.stablehlo_locations)),
    }
    return {**data, "places": list(places)}
