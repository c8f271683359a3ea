"""Register counts of a GPU's kernels, which NVIDIA's assembler allocates: PTX has unlimited virtual registers."""

from __future__ import annotations

import importlib.metadata
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.compilation import capture_cache
from xla_inspect.compilation.object_code import explain_no_assembly
from xla_inspect.compilation.sass import ARCHITECTURE, find_tool, run_tool
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.targets import find_entry

if TYPE_CHECKING:
    from collections.abc import Collection

    from xla_inspect.captured import Capture, Code

ASSEMBLER = "nvidia-cuda-nvcc"
"""The package that holds `ptxas`."""

UNREADABLE = "this version of xla-inspect cannot read the executables of the installed plugin"

_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")


def count_registers(capture: Capture, kernels: Collection[str] | None = None) -> dict[str, tuple[int, int, int]]:
    """Assemble the kernels; return each one's registers per thread, spilled bytes and shared-memory bytes, by symbol.

    Each kernel needs one short process, and the assembler's report is cached. Values spill if registers run out; stores
    and loads are summed as they occur in the code, not as often as they run. The shared memory is the code's static
    demand, to which a launch may add. The assembler is from the installed CUDA package; the driver that eventually runs
    the program may contain another assembler, which may allocate differently.

    The registers of an AMD GPU's kernels stand above their assembly, so this returns nothing for them.

    Args:
        capture: A capture for a GPU; any other has no kernels to count.
        kernels: Symbols of kernels as in `code`; all by default.

    Raises:
        TargetUnavailableError: `ptxas` is not installed, or for an AMD GPU the disassembler.
        InspectError: The assembler rejects the code.
    """
    pieces = [code for code in capture.code if code.language == "ptx" and (kernels is None or code.kernel in kernels)]
    has_kernels = find_entry(capture.target).platform == "rocm" and any(thunk.symbol for thunk in capture.thunks)
    if has_kernels and "asm" not in {code.language for code in capture.code}:
        raise TargetUnavailableError(capture.target, explain_no_assembly("rocm") or UNREADABLE)
    if not pieces:
        return {}
    ptxas = find_tool(capture.target, ASSEMBLER, "ptxas", "cuda")
    # Threads suffice, because each of them only waits for a process.
    with ThreadPoolExecutor() as pool:
        counts = pool.map(lambda code: _read(_assemble(code, ptxas)), pieces)
        return {code.kernel: count for code, count in zip(pieces, counts, strict=True) if count}


def _assemble(code: Code, ptxas: Path) -> str:
    """Return the assembler's report on one kernel, from the cache if it is there."""

    def make() -> str:
        # `ptxas` assembles for an old default architecture unless an option repeats the one in the text.
        match = ARCHITECTURE.search(code.text)
        with tempfile.TemporaryDirectory(prefix="xla_inspect_") as folder:
            source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
            source.write_text(code.text, encoding="utf-8")
            name = f"--gpu-name={match[1] if match else ''}"
            return run_tool(ptxas, "--verbose", name, f"--output-file={binary}", str(source))

    # The version is part of the key, because another assembler may allocate other registers.
    version = importlib.metadata.version(ASSEMBLER)
    return capture_cache.recall_text({"ptx": code.text, "said by": version}, make)


def _read(report: str) -> tuple[int, int, int] | None:
    registers, spilled = _USED.search(report), _SPILLED.search(report)
    if registers is None:
        return None
    static = _SHARED.search(report)
    return int(registers[1]), int(spilled[1]) + int(spilled[2]) if spilled else 0, int(static[1]) if static else 0
