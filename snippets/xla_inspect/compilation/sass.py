"""The machine code (SASS) of a GPU's kernels: their PTX is assembled as the compiler does it, then disassembled."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.captured import Code
from xla_inspect.compilation import capture_cache
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.installation import install_line

if TYPE_CHECKING:
    from collections.abc import Collection

    from xla_inspect.captured import Capture

ARCHITECTURE = re.compile(r"^\.target (sm_\w+)", re.MULTILINE)
PREFIX = re.compile(r"^ptxas info\s*:")


def disassemble(capture: Capture, kernels: Collection[str] | None = None) -> tuple[Code, ...]:
    """Return the SASS of a capture's PTX kernels, made by two short processes per kernel or read from the cache.

    A capture without PTX gives an empty tuple, and needs no tools.

    Args:
        capture: A capture for a GPU.
        kernels: Names of kernels as in `code`; all by default.

    Raises:
        TargetUnavailableError: `ptxas` or `nvdisasm` is not installed.
        InspectError: One of the tools rejects the code.
    """
    pieces = [code for code in capture.code if code.language == "ptx" and (kernels is None or code.kernel in kernels)]
    if not pieces:
        return ()
    ptxas = find_tool(capture.target, "nvidia-cuda-nvcc", "ptxas", "cuda")
    nvdisasm = find_tool(capture.target, "nvidia-cuda-nvdisasm", "nvdisasm", "asm")
    # Threads suffice, because each of them only waits for a process.
    with ThreadPoolExecutor() as pool:
        texts = pool.map(lambda code: _assemble(code, ptxas, nvdisasm), pieces)
        return tuple(Code(code.kernel, "sass", text) for code, text in zip(pieces, texts, strict=True))


def find_tool(target: str, package: str, tool: str, extra: str) -> Path:
    """Return the path of a tool in an installed Python package, never the system's tool.

    Args:
        target: The target, for the error message.
        package: The package that contains the tool.
        tool: The file name of the tool.
        extra: The extra of the wheel that installs the package, for the error message.

    Raises:
        TargetUnavailableError: The package is not installed.
    """
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    path = next((Path(str(file.locate())) for file in files if file.name == tool), None)
    if path is None:
        raise TargetUnavailableError(target, f"{package} is not installed; run `{install_line(extra)}`")
    return path


def _assemble(code: Code, ptxas: Path, nvdisasm: Path) -> str:
    """Return the SASS of one kernel below the assembler's report as comments, from the cache if it is there."""
    # Another version of either tool may produce another text, so the versions are part of the key.
    tools = {name: importlib.metadata.version(name) for name in ("nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm")}

    def make() -> str:
        match = ARCHITECTURE.search(code.text)
        with tempfile.TemporaryDirectory(prefix="xla_inspect_") as folder:
            source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
            source.write_text(code.text, encoding="utf-8")
            name = f"--gpu-name={match[1] if match else ''}"
            report = run_tool(ptxas, "--verbose", name, f"--output-file={binary}", str(source))
            return quote(report) + run_tool(nvdisasm, "--print-code", str(binary))

    return capture_cache.recall_text({"ptx": code.text, "tools": tools}, make)


def quote(report: str) -> str:
    """Return the assembler's report on a kernel as comments to place above its code, without the assembly time.

    The report has data that the code itself does not show: registers, spills, stack and shared memory.
    """
    lines = [PREFIX.sub("", line).strip() for line in report.splitlines()]
    return "".join(f"// ptxas: {line}\n" for line in lines if line and not line.startswith("Compile time"))


def run_tool(tool: Path, *arguments: str) -> str:
    """Run a tool, and return its standard output or, if that is empty, its standard error.

    Raises:
        InspectError: The tool fails.
    """
    process = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - a tool of our own requirements
    if process.returncode:
        message = f"{tool.name} failed: {process.stderr.strip() or process.stdout.strip()}"
        raise InspectError(message)
    # The assembler prints its report to standard error, and the disassembler prints the code to standard output.
    return process.stdout or process.stderr
