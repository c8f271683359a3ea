"""The questions about a dump of an AMD GPU: the names of its libraries, and kernels that do not read each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.dumps import Files, list_modules, read_capture
from xla_inspect.questions.why.finding import WhyFinder
from xla_inspect.questions.why.open_questions import list_open_questions

if TYPE_CHECKING:
    from xla_inspect import Capture

LIBRARY = """HloModule jit_f, is_scheduled=true

ENTRY %main (x: f32[64,64], y: f32[64,64]) -> f32[64,64] {
  %x = f32[64,64]{1,0} parameter(0)
  %y = f32[64,64]{1,0} parameter(1)
  %call = (f32[64,64]{1,0}, s8[64]{0}) custom-call(%x, %y), custom_call_target="__cublas$lt$matmul"
  ROOT %z = f32[64,64]{1,0} get-tuple-element(%call), index=0
}
"""
SLICES = """HloModule jit_f, is_scheduled=true

%f (a: f32[8]) -> f32[4] {
  %a = f32[8]{0} parameter(0)
  ROOT %s = f32[4]{0} slice(%a), slice={[0:4]}
}

%g (b: f32[8]) -> f32[4] {
  %b = f32[8]{0} parameter(0)
  ROOT %t = f32[4]{0} slice(%b), slice={[4:8]}
}

ENTRY %main (x: f32[8]) -> (f32[4], f32[4]) {
  %x = f32[8]{0} parameter(0)
  %p = f32[4]{0} fusion(%x), kind=kLoop, calls=%f
  %q = f32[4]{0} fusion(%x), kind=kLoop, calls=%g
  ROOT %r = (f32[4]{0}, f32[4]{0}) tuple(%p, %q)
}
"""


def read_module(text: str) -> Capture:
    """Return the capture of an optimized module of an MI300X."""
    files = Files.from_mapping({"module_0001.jit_f.gfx942_gpu_after_optimizations.txt": text.encode()})
    return read_capture(files, list_modules(files)[0])


def test_a_call_is_one_to_amds_library() -> None:
    explanation = " ".join(str(WhyFinder(read_module(LIBRARY)).answer("f", "call")).split())
    assert "is a call to the library hipBLASLt" in explanation


def test_several_independent_kernels_are_not_called_one() -> None:
    answer = list_open_questions(WhyFinder(read_module(SLICES)), "f")
    assert "no kernel reads another's result" in " ".join(str(answer).split())
