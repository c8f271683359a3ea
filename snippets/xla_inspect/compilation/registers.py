"""The registers of a GPU's kernels, which NVIDIA's assembler chooses: PTX has as many as it likes."""

from __future__ import annotations

import importlib.metadata
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.compilation import capture_cache
from xla_inspect.compilation.sass import ARCHITECTURE, find_tool, run_tool

if TYPE_CHECKING:
    from collections.abc import Collection

    from xla_inspect.captured import Capture, Code

ASSEMBLER = "nvidia-cuda-nvcc"
"""The package that holds `ptxas`."""

_USED = re.compile(r"Used (\d+) registers")
_SPILLED = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")


def count_registers(capture: Capture, kernels: Collection[str] | None = None) -> dict[str, tuple[int, int, int]]:
    """Return registers of a thread, bytes that it spills and bytes of shared memory, by the symbols of kernels.

    Each kernel takes one short process, and what was counted is kept. What is spilled is written to and read from
    memory for want of registers: both are summed, as the code has them and not by how often they run. The shared memory
    is what the code asks for, to which comes what a launch asks for. The assembler is that of the CUDA package that is
    installed here, which need not be that of the driver that the program meets: another may choose otherwise.

    Args:
        capture: A capture for a GPU; any other has no kernels to count.
        kernels: Symbols of kernels as `code` has them; all by default.

    Raises:
        TargetUnavailableError: `ptxas` is not installed.
        InspectError: It refuses the code.
    """
    pieces = [code for code in capture.code if code.language == "ptx" and (kernels is None or code.kernel in kernels)]
    if not pieces:
        return {}
    ptxas = find_tool(capture.target, ASSEMBLER, "ptxas", "cuda")
    with ThreadPoolExecutor() as pool:
        counted = pool.map(lambda code: _read(_assemble(code, ptxas)), pieces)
        return {code.kernel: found for code, found in zip(pieces, counted, strict=True) if found}


def _assemble(code: Code, ptxas: Path) -> str:
    """Return what the assembler says of one kernel, from the cache where it was asked before."""

    def make() -> str:
        match = ARCHITECTURE.search(code.text)
        with tempfile.TemporaryDirectory(prefix="xla_inspect_") as folder:
            source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
            source.write_text(code.text, encoding="utf-8")
            name = f"--gpu-name={match[1] if match else ''}"
            return run_tool(ptxas, "--verbose", name, f"--output-file={binary}", str(source))

    version = importlib.metadata.version(ASSEMBLER)
    return capture_cache.recall_text({"ptx": code.text, "said by": version}, make)


def _read(said: str) -> tuple[int, int, int] | None:
    used, spilled = _USED.search(said), _SPILLED.search(said)
    if used is None:
        return None
    static = _SHARED.search(said)
    return int(used[1]), int(spilled[1]) + int(spilled[2]) if spilled else 0, int(static[1]) if static else 0
