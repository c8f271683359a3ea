"""The compilers' log of their decisions, from a second compile in a process with verbose logging."""

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
"""The number of bytes to keep of one compile's log; the rest is read and dropped."""

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
"""Log levels by topic and XLA source file (without suffix).

Each level is the lowest at which the file logs its reasons: some files also print whole modules before and after, and
higher levels print more than can be stored.
"""

LEVELS: Mapping[str, int] = {name: level for levels in TOPICS.values() for name, level in levels.items()}
"""The log level of each file in `TOPICS`."""

TPU_LEVELS: Mapping[str, int] = {**LEVELS, "fusion_emitter": 1}
"""The levels in libtpu, in which a file with the same name may be different and log every step of code generation."""


@contextmanager
def overheard(
    lowered: Lowered, target: Target, options: Mapping[str, str | int | bool]
) -> Iterator[Future[tuple[LogEvent, ...]]]:
    """Compile a program again in a process with verbose logs during the `with` block, unless the log is cached.

    The value of the context is a future of the logged events.
    If the block raises a compiler error with a capture, that capture gets the log up to the failure.

    Args:
        lowered: The program.
        target: The target to compile for.
        options: XLA's options by name.
    """
    # The request is serialized before the block, because another thread must not use the module during its compile.
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
                # A failure to collect the log must not hide the compiler's own error.
                with suppress(InspectError):
                    error.capture = failed.retold(log=log.result())  # type: ignore[attr-defined]  # added
            raise


def collect_log(call: CompileCall, target: str) -> tuple[LogEvent, ...]:
    """Compile in a separate process, and return the logged events, followed on a CPU by LLVM's remarks.

    Args:
        call: The serialized compile request.
        target: The short name of the target.

    Raises:
        InspectError: The compiler crashed; the message ends with its last lines of log.
    """
    with ThreadPoolExecutor(1) as beside:
        remarks = beside.submit(collect_remarks, call, target)
        events = log_lines.read_log(_process().compile(call, target), frozenset(LEVELS))
        return events + remarks.result()


def collect_remarks(call: CompileCall, target: str) -> tuple[LogEvent, ...]:
    """Compile in a separate process, and return LLVM's remarks about a CPU's kernels; nothing for other targets.

    LLVM prints a remark piece by piece, so only a single-threaded process keeps remarks whole and groups them by
    kernel. On macOS and Windows, a process cannot be pinned to one processor, so there are no remarks.

    Args:
        call: The serialized compile request.
        target: The short name of the target.

    Raises:
        InspectError: As in `collect_log`.
    """
    if target.partition(":")[0] != "cpu" or not hasattr(os, "sched_setaffinity"):
        return ()
    return vector_remarks.read_remarks(_remarking_process().compile(vector_remarks.ask_remarks(call), target))


class LoggedProcess:
    """A process whose compilers write verbose logs; it lives as long as its parent, and runs one compile at a time."""

    def __init__(self, variables: Mapping[str, str], *words: str, work: str = "logged its reasons") -> None:
        """Store the extra environment variables of the process, which starts with the first compile.

        Args:
            variables: Environment variables to add to this process's own.
            *words: Command-line arguments.
            work: The compiler's activity, for the error message ("while it ...").
        """
        self._variables, self._words, self._work = variables, words, work
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._number = 0

    def compile(self, call: CompileCall, target: str) -> str:
        """Compile in the process, which starts if necessary, and return the raw log of this compile.

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
                # A compiler that crashes gives its reason last, after a log that may be very long.
                words = "\n".join(log.strip().splitlines()[-6:])
                message = f"target {target!r}: the compiler ended its process while it {self._work}:\n{words}"
                raise InspectError(message)
            assert child.process.stdout  # noqa: S101 - a pipe
            # The answer is not needed, but an unread one would remain in the pipe for the next compile.
            child.process.stdout.readline()
            return log

    def end(self) -> None:
        """End the process and any compile that another thread waits for; the next compile starts a new process."""
        if child := self._child:
            child.kill()

    def _start(self) -> Child:
        package = str(Path(__file__).parents[2])
        inherited = os.environ.copy()
        # With `-P`, Python does not search the working folder, so the folder of this package is added.
        paths = os.pathsep.join(filter(None, (package, inherited.get("PYTHONPATH", ""))))
        child = Child(
            [sys.executable, "-P"],
            "from xla_inspect.compilation.logged_process import main; main()",
            self._words,
            variables={**inherited, **self._variables, "PYTHONPATH": paths},
            errors=subprocess.PIPE,
        )
        # Exit handlers run in reverse order, so the process ends before the folders that it writes to are removed.
        atexit.register(child.kill)
        return child


def _read_until(process: subprocess.Popen[str], mark: bytes) -> tuple[str, bool]:
    """Return up to `LIMIT` bytes of standard error before a mark line, without dumped states, and if the mark came."""
    assert isinstance(process.stderr, io.TextIOWrapper)  # noqa: S101 - a pipe
    output = iter(process.stderr.buffer.readline, b"")
    marked = False

    def read() -> Iterator[bytes]:
        nonlocal marked
        for line in output:
            if line.rstrip(b"\n") == mark:
                marked = True
                return
            yield line

    lines: list[bytes] = []
    size = 0
    for line in log_lines.drop_states(read()):
        size += len(line)
        # Reading continues beyond the limit, because the process blocks when the pipe is full.
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
    """Return the environment variables that make XLA (in jaxlib and the CUDA plugin) and libtpu log verbosely.

    Args:
        levels: XLA source files, without their suffix, and their log levels.
        on_tpu: The same for libtpu, if different.
    """
    modules, tpu_modules = (
        ",".join(f"{name}={level}" for name, level in files.items()) for files in (levels, on_tpu or levels)
    )
    return {
        "TF_CPP_MIN_LOG_LEVEL": "0",
        "TF_CPP_VMODULE": modules,
        "TPU_MIN_LOG_LEVEL": "0",
        "TPU_STDERR_LOG_LEVEL": "0",
        "TPU_VMODULE": tpu_modules,
        # Otherwise libtpu also writes the whole log to a file.
        "TPU_LOG_DIR": "disabled",
    }
