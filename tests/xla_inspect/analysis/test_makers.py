"""Who fills a value is found behind loops, tuples, copies and stacks, and whether the backward pass reads it."""

from __future__ import annotations

import pytest

from xla_inspect.analysis.makers import Makers
from xla_inspect.hlo import parse_module

TEXT = """\
HloModule m

%body (p: (s32[], f32[4], f32[3,4], f32[4])) -> (s32[], f32[4], f32[3,4], f32[4]) {
  %p = (s32[], f32[4], f32[3,4], f32[4]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[4] get-tuple-element(%p), index=1
  %stack = f32[3,4] get-tuple-element(%p), index=2
  %kept = f32[4] get-tuple-element(%p), index=3
  %tanh = f32[4] tanh(%x), metadata={op_name="jit(f)/jvp()/tanh"}
  %row = f32[1,4] reshape(%tanh)
  %zero = s32[] constant(0)
  %next = f32[3,4] dynamic-update-slice(%stack, %row, %i, %zero)
  ROOT %out = (s32[], f32[4], f32[3,4], f32[4]) tuple(%i, %tanh, %next, %kept)
}

%condition (q: (s32[], f32[4], f32[3,4], f32[4])) -> pred[] {
  %q = (s32[], f32[4], f32[3,4], f32[4]) parameter(0)
  ROOT %go = pred[] constant(true)
}

ENTRY %main (a: f32[4], w: f32[4]) -> f32[3,4] {
  %a = f32[4] parameter(0)
  %w = f32[4] parameter(1)
  %sine = f32[4] sine(%w)
  %start = s32[] constant(0)
  %nothing = f32[] constant(0)
  %empty = f32[3,4] broadcast(%nothing), dimensions={}
  %begin = (s32[], f32[4], f32[3,4], f32[4]) tuple(%start, %a, %empty, %sine)
  %loop = (s32[], f32[4], f32[3,4], f32[4]) while(%begin), condition=%condition, body=%body
  %saved = f32[3,4] get-tuple-element(%loop), index=2
  %turned = f32[3,4] transpose(%saved), dimensions={0,1}
  %away = (f32[3,4], f32[3,4], u32[]) copy-start(%turned)
  %back = f32[3,4] copy-done(%away)
  %last = f32[4] get-tuple-element(%loop), index=1
  %cosine = f32[4] cosine(%last), metadata={op_name="jit(f)/jvp()/cos"}
  ROOT %slope = f32[3,4] negate(%back), metadata={op_name="jit(f)/transpose(jvp())/neg"}
}
"""


@pytest.fixture(scope="module")
def makers() -> Makers:
    return Makers(parse_module(TEXT))


@pytest.mark.parametrize(
    ("name", "index", "maker", "loop"),
    [
        ("loop", (2,), "tanh", "loop"),  # a stack is what each trip writes into it
        ("next", (), "tanh", "loop"),
        ("empty", (), "tanh", "loop"),  # what is set aside for it, too
        ("back", (), "tanh", "loop"),  # and a copy of it in another order
        ("away", (1,), "tanh", "loop"),
        ("loop", (1,), "tanh", None),
        ("loop", (3,), "sine", None),  # what the body hands on as it was
        ("kept", (), "sine", None),
        ("begin", (3,), "sine", None),
        ("cosine", (), "cosine", None),
        ("a", (), "a", None),
    ],
)
def test_who_fills_a_value_is_found(
    name: str, index: tuple[int, ...], maker: str, loop: str | None, makers: Makers
) -> None:
    found = makers.find(name, index)
    assert found is not None
    assert (found.instruction.name, found.loop and found.loop.name) == (maker, loop)


@pytest.mark.parametrize(
    ("name", "index", "expected"),
    [("loop", (2,), True), ("empty", (), True), ("next", (), True), ("loop", (1,), False), ("sine", (), False)],
)
def test_what_the_backward_pass_reads_is_told(
    name: str,
    index: tuple[int, ...],
    expected: bool,  # noqa: FBT001 - a column of the table
    makers: Makers,
) -> None:
    assert makers.feeds_backward(name, index) is expected


def test_of_what_the_module_does_not_have_nothing_is_known(makers: Makers) -> None:
    assert makers.find("none", ()) is None
    assert not makers.feeds_backward("none", ())
