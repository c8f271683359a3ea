"""The resources of a kernel match the header of its machine code, including spilled registers."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.analysis.machine import count_instructions, read_resources
from xla_inspect.compilation import disassemble, sass

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect.captured import Capture, Code

pytestmark = pytest.mark.usefixtures("all_targets")

FIELD = re.compile(r"EIATTR_(?P<name>\w+)\s*\n(?P<body>(?:(?!\s*//----- nvinfo).*\n)*)")


@pytest.fixture(scope="module", params=["h100", "b200"])
def program(request: pytest.FixtureRequest) -> Capture:
    return capture(scanned, *EXAMPLE, target=request.param, passes=False)


@pytest.fixture(scope="module")
def assembled(program: Capture) -> dict[str, str]:
    """Return the SASS of each kernel of a program, by the name of the kernel."""
    return {code.kernel: code.text for code in disassemble(program)}


def read_header(code: Code, folder: Path) -> dict[str, int]:
    """Return the registers and stack size of a kernel from the header of its binary."""
    source, binary = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(code.text)
    match = sass.ARCHITECTURE.search(code.text)
    assert match
    ptxas = sass.find_tool("h100", "nvidia-cuda-nvcc", "ptxas", "cuda")
    subprocess.run([ptxas, f"--gpu-name={match[1]}", f"--output-file={binary}", source], check=True)
    text = sass.run_tool(sass.find_tool("h100", "nvidia-cuda-nvdisasm", "nvdisasm", "asm"), str(binary))
    headers = {}
    for field in FIELD.finditer(text):
        if field["name"] in {"REGCOUNT", "FRAME_SIZE"} and f"({code.kernel})" in field["body"]:
            headers[field["name"]] = int(re.findall(r"\.word\s+(0x[0-9a-f]+)", field["body"])[-1], 16)
    return headers


def test_registers_and_stack_are_those_of_the_binarys_own_header(
    program: Capture, assembled: dict[str, str], tmp_path: Path
) -> None:
    pieces = {code.kernel: code for code in program.code if code.language == "ptx"}
    assert assembled.keys() == pieces.keys()
    for kernel, code in pieces.items():
        resources = read_resources(assembled[kernel])
        assert resources
        assert {"REGCOUNT": resources.registers, "FRAME_SIZE": resources.stack} == read_header(code, tmp_path)


def test_a_kernel_with_too_few_registers_spills_and_its_code_uses_local_memory(
    program: Capture, tmp_path: Path
) -> None:
    code = max((code for code in program.code if code.language == "ptx"), key=lambda code: len(code.text))
    few = replace(code, text=re.sub(r"(\.reqntid [^\n]*)", r"\1\n.maxnreg 16", code.text, count=1))
    (piece,) = disassemble(program.retold(code=(few,)))
    resources = read_resources(piece.text)
    assert resources
    assert resources.spill_stores > 0
    assert resources.spill_loads > 0
    assert resources.spilled == resources.spill_stores + resources.spill_loads
    assert resources.stack == read_header(few, tmp_path)["FRAME_SIZE"] > 0
    assert count_instructions("sass", piece.text).counts["local memory"] > 0


def test_shared_memory_of_the_code_is_what_its_ptx_declares(program: Capture, assembled: dict[str, str]) -> None:
    declared = {
        code.kernel: sum(map(int, re.findall(r"^\s*\.shared [^\n]*\[(\d+)\];", code.text, re.MULTILINE)))
        for code in program.code
        if code.language == "ptx"
    }
    for kernel, text in assembled.items():
        resources = read_resources(text)
        assert resources
        # The assembler may leave out what is never read, and reserve a little for itself.
        assert resources.shared == 0 or 0 < resources.shared - declared[kernel] + 1024 <= 2048


def test_code_without_the_assemblers_header_has_no_resources() -> None:
    assert read_resources("\t.target\tsm_90a\n") is None


def test_the_time_that_the_assembler_took_is_left_out(assembled: dict[str, str]) -> None:
    assert all("Compile time" not in text and "ptxas info" not in text for text in assembled.values())
    assert all(text.startswith("// ptxas: ") for text in assembled.values())
