"""What the compilers say of their reasons: one more compile, in a process whose compilers write their verbose logs."""

from __future__ import annotations

import atexit
import base64
import io
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import jax_private
from xla_inspect.captured import read_log, write_log
from xla_inspect.compilation import capture_cache, log_lines, vector_remarks
from xla_inspect.compilation.logged_process import ONE_THREAD
from xla_inspect.errors import InspectError
from xla_inspect.process import Child

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Future

    from xla_inspect.captured import LogEvent
    from xla_inspect.compilation.program_stages import Lowered
    from xla_inspect.jax_private import CompileCall
    from xla_inspect.targets import Target

LIMIT = 128 << 20
"""Bytes of log that are read of one compile; what follows is left out, and the log says so."""

MARK = "end of the compile {number} of xla_inspect"

TOPICS: Mapping[str, Mapping[str, int]] = {
    "passes": {"hlo_pass_pipeline": 1},
    "fusion": {
        "convolution_emitter": 2,
        "cpu_instruction_fusion": 2,
        "fusion_block_level_rewriter": 2,
        "fusion_emitter": 2,
        "instruction_fusion": 3,
        "multi_output_fusion": 2,
        "priority_fusion": 2,
        "softmax_rewriter_triton": 2,
        "support": 2,
        "thunk_emitter": 1,
        "tpu_instruction_fusion": 2,
        "tpu_multi_output_fusion": 1,
        "tree_reduction_rewriter": 3,
    },
    "simplification": {
        "algebraic_simplifier": 10,
        "call_inliner": 1,
        "dfs_hlo_visitor_with_default": 3,
        "hlo_dce": 1,
        "reshape_mover": 3,
        "while_loop_invariant_code_motion": 2,
        "while_loop_simplifier": 2,
    },
    "layout": {"layout_assignment": 3, "tpu_layout_assignment": 3},
    "copies": {"copy_insertion": 3, "copy_removal": 4},
    "matmul": {
        "algorithm_checker": 1,
        "conv_rewriter": 2,
        "dot_decomposer": 3,
        "dot_merger": 3,
        "gemm_fusion": 5,
        "gemm_rewriter": 3,
        "library_rewriter": 4,
        "mlir_kernel_emitter": 2,
        "triton": 1,
    },
    "schedule": {
        "async_collective_creator": 2,
        "async_collective_merger": 3,
        "hlo_memory_scheduler": 2,
        "latency_hiding_scheduler": 2,
        "llo_schedulers": 1,
    },
    "rematerialization": {"hlo_rematerialization": 2},
    "memory": {"algorithm": 2, "buffer_assignment": 2, "memory_space_assignment": 2},
    "sharding": {
        "all_gather_combiner": 1,
        "all_reduce_combiner": 1,
        "collective_combiner_utils": 1,
        "collective_permute_combiner": 1,
        "collective_pipeliner": 1,
        "collective_pipelining_analyzer": 1,
        "dot_handler": 2,
        "reduce_scatter_combiner": 1,
        "reduce_scatter_creator": 2,
        "shardy_xla_pass": 1,
        "spmd_partitioner": 2,
        "tpu_spmd_partitioner": 2,
    },
}
"""What reasons are about; the files of XLA, without their suffix, that give them; and how much each may say.

That is the least level at which it gives its reasons: some print whole modules too, before and after, and at a higher
level more than anybody can keep.
"""

LEVELS: Mapping[str, int] = {name: level for levels in TOPICS.values() for name, level in levels.items()}
"""The files of `TOPICS` and how much each may say."""

TPU_LEVELS: Mapping[str, int] = {**LEVELS, "fusion_emitter": 1}
"""The levels in libtpu: a file of XLA's name may be another there, which says each step of the code that it writes."""


@contextmanager
def overheard(
    lowered: Lowered, target: Target, options: Mapping[str, str | int | bool], *, wanted: bool
) -> Iterator[Future[tuple[LogEvent, ...]] | None]:
    """Let a program be compiled here meanwhile, and in the other process too, where its log is wanted.

    Whoever fails here gets, as its capture's log, what was said until then.

    Args:
        lowered: The program.
        target: What for.
        options: XLA's options by name.
        wanted: Whether the log is wanted; else there is none.
    """
    if not wanted:
        yield None
        return
    call = jax_private.describe_compile(lowered.place(target), options)
    content = {
        "log of": capture_cache.make_key(lowered, target, options),
        "levels": dict(LEVELS),
        "TPU levels": dict(TPU_LEVELS),
        "remarks": dict(vector_remarks.SPEAKING),
    }
    with ThreadPoolExecutor(1) as pool:

        def write() -> str:
            return json.dumps(write_log(collect_log(call, target.name)))

        log = pool.submit(lambda: read_log(json.loads(capture_cache.recall_text(content, write))))
        try:
            yield log
        except RuntimeError as error:
            if failed := getattr(error, "capture", None):
                with suppress(InspectError):
                    error.capture = failed.retold(log=log.result())  # type: ignore[attr-defined]  # added
            raise


def collect_log(call: CompileCall, target: str) -> tuple[LogEvent, ...]:
    """Return what the compiler says while it compiles.

    Args:
        call: What the compiler is asked for.
        target: The short name of the target.

    Raises:
        InspectError: The compiler ended its process; with what it said last.
    """
    with ThreadPoolExecutor(1) as beside:
        remarks = beside.submit(collect_remarks, call, target)
        said = log_lines.read_log(_process().compile(call, target), frozenset(LEVELS))
        return said + remarks.result()


def collect_remarks(call: CompileCall, target: str) -> tuple[LogEvent, ...]:
    """Return what LLVM says of the loops of a CPU's kernels; nothing of other targets.

    LLVM prints a remark piece by piece, so only a process with one thread prints whole ones, and those
    of a kernel together. Where a process cannot be held to one processor, as on macOS and Windows, there are none.

    Args:
        call: What the compiler is asked for.
        target: The short name of the target.

    Raises:
        InspectError: As in `collect_log`.
    """
    if target.partition(":")[0] != "cpu" or not hasattr(os, "sched_setaffinity"):
        return ()
    return vector_remarks.read_remarks(_remarking_process().compile(vector_remarks.ask_remarks(call), target))


class LoggedProcess:
    """A process whose compilers write their verbose logs; it lives as long as this one, and compiles one at a time."""

    def __init__(self, variables: Mapping[str, str], *words: str, work: str = "logged its reasons") -> None:
        """Remember what the process finds in its environment besides this one's; it starts with the first compile.

        Args:
            variables: What it finds.
            *words: What stands on its command line.
            work: What the compiler does there, for the message where it fails.
        """
        self._variables, self._words, self._work = variables, words, work
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._number = 0

    def compile(self, call: CompileCall, target: str) -> str:
        """Compile, and return the log, as it was written.

        Raises:
            InspectError: As in `collect_log`.
        """
        with self._lock:
            child = self._child = self._child or self._start()
            self._number += 1
            mark = MARK.format(number=self._number)
            request = {
                "mark": mark,
                "target": target,
                "module": base64.b64encode(call.module).decode(),
                "options": base64.b64encode(call.options).decode(),
                "devices": call.devices,
            }
            child.send(json.dumps(request))
            log, is_marked = _read_until(child.process, mark.encode())
            if not is_marked:
                self._child = None
                child.end()
                words = "\n".join(log.strip().splitlines()[-6:])
                message = f"target {target!r}: the compiler ended its process while it {self._work}:\n{words}"
                raise InspectError(message)
            assert child.process.stdout  # noqa: S101 - a pipe
            child.process.stdout.readline()
            return log

    def end(self) -> None:
        """End the process, and with it a compile that another thread waits for; the next compile starts another."""
        if child := self._child:
            child.kill()

    def _start(self) -> Child:
        package = str(Path(__file__).parents[2])
        inherited = os.environ.copy()
        paths = os.pathsep.join(filter(None, (package, inherited.get("PYTHONPATH", ""))))
        child = Child(
            [sys.executable, "-P"],
            "from xla_inspect.compilation.logged_process import main; main()",
            self._words,
            variables={**inherited, **self._variables, "PYTHONPATH": paths},
            errors=subprocess.PIPE,
        )
        # Before the folders go that it writes to.
        atexit.register(child.kill)
        return child


def _read_until(process: subprocess.Popen[str], mark: bytes) -> tuple[str, bool]:
    """Return what a process writes up to a line, and whether that line came."""
    assert isinstance(process.stderr, io.TextIOWrapper)  # noqa: S101 - a pipe
    written = iter(process.stderr.buffer.readline, b"")
    marked = False

    def read() -> Iterator[bytes]:
        nonlocal marked
        for line in written:
            if line.rstrip(b"\n") == mark:
                marked = True
                return
            yield line

    lines: list[bytes] = []
    size = 0
    for line in log_lines.drop_states(read()):
        size += len(line)
        if size <= LIMIT:
            lines.append(line)
    return b"".join(lines).decode(errors="replace"), marked


@cache
def _process() -> LoggedProcess:
    return LoggedProcess(list_variables(LEVELS, TPU_LEVELS))


@cache
def _remarking_process() -> LoggedProcess:
    return LoggedProcess({}, ONE_THREAD, work="told which loops it vectorized")


def list_variables(levels: Mapping[str, int], on_tpu: Mapping[str, int] | None = None) -> dict[str, str]:
    """Return the variables by which the compilers say more: XLA in jaxlib and the CUDA plugin, and libtpu.

    Args:
        levels: Files of XLA, without their suffix, and their levels.
        on_tpu: The same in libtpu, where that differs.
    """
    modules, tpu_modules = (
        ",".join(f"{name}={level}" for name, level in each.items()) for each in (levels, on_tpu or levels)
    )
    return {
        "TF_CPP_MIN_LOG_LEVEL": "0",
        "TF_CPP_VMODULE": modules,
        "TPU_MIN_LOG_LEVEL": "0",
        "TPU_STDERR_LOG_LEVEL": "0",
        "TPU_VMODULE": tpu_modules,
        # Else libtpu writes all of it into a file too.
        "TPU_LOG_DIR": "disabled",
    }
