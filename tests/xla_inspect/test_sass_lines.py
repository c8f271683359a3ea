"""Lines of machine code are traced to PTX by the assembler's table or not at all, and cached by content."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from programs import softmax
from xla_inspect import capture, sass_lines
from xla_inspect.sass_lines import read_marks, trace_sass

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("all_targets")

MARKED = """\t.target\tsm_90a
\t//## File ".nv_debug_ptx_txt", line 16
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   EXIT ;
"""
PLAIN = """// ptxas: Used 16 registers
\t.target\tsm_90a
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   EXIT ;
"""


@pytest.fixture(scope="module")
def kernel(all_targets: None) -> tuple[str, str]:  # noqa: ARG001 - it asks for them
    """The texts of PTX and SASS of the kernel of a softmax on the H100."""
    program = capture(softmax.softmax, *softmax.EXAMPLE, target="h100", machine=True)
    texts = {code.language: code.text for code in program.code}
    return texts["ptx"], texts["sass"]


def test_a_line_mark_applies_to_instructions_until_the_next_mark() -> None:
    assert read_marks(MARKED, PLAIN) == (0, 0, 16, 0, 16)


def test_unknown_code_is_not_traced() -> None:
    assert read_marks(MARKED.replace("EXIT", "NOP"), PLAIN) == ()
    assert read_marks("", "") == ()


def test_each_instruction_comes_from_a_line_of_the_ptx(kernel: tuple[str, str]) -> None:
    ptx, sass = kernel
    lines = trace_sass(ptx, sass)
    assert len(lines) == len(sass.splitlines())
    assert max(lines) <= len(ptx.splitlines())
    assert [text for line, text in zip(lines, sass.splitlines(), strict=True) if line and "/*" not in text] == []


def test_invalid_ptx_is_not_traced(kernel: tuple[str, str]) -> None:
    assert trace_sass("no code", kernel[1]) == ()
    assert trace_sass(kernel[0].replace("mov", "moo"), kernel[1]) == ()


def test_a_stored_table_is_reused_and_recreated_if_damaged(
    kernel: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path))
    trace_sass.cache_clear()
    lines = trace_sass(*kernel)
    (path,) = tmp_path.glob("*.gz")
    path.write_bytes(gzip.compress(b"[1, 2]"))
    trace_sass.cache_clear()
    assert trace_sass(*kernel) == (1, 2)
    path.write_bytes(b"damaged")
    trace_sass.cache_clear()
    assert trace_sass(*kernel) == lines
    trace_sass.cache_clear()


def test_without_the_tools_nothing_is_traced(kernel: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sass_lines, "TOOLS", {"ptxas": "no-such-package", "nvdisasm": "no-such-package"})
    trace_sass.cache_clear()
    assert trace_sass(*kernel) == ()
    trace_sass.cache_clear()
