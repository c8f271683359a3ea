"""The producer of a value behind loops, tuples, copies and stacks, and its use in the backward pass."""

from __future__ import annotations

from itertools import pairwise

import pytest

from xla_inspect.analysis import KernelParts
from xla_inspect.analysis.loops import Loops
from xla_inspect.analysis.value_flow import ValueFlow
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
def flow() -> ValueFlow:
    return ValueFlow(parse_module(TEXT))


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
def test_the_producer_of_a_value_is_found(
    name: str, index: tuple[int, ...], maker: str, loop: str | None, flow: ValueFlow
) -> None:
    origin = flow.find_maker(name, index)
    assert origin is not None
    assert (origin.instruction.name, origin.loop and origin.loop.name) == (maker, loop)


@pytest.mark.parametrize(
    ("name", "index", "expected"),
    [("loop", (2,), True), ("empty", (), True), ("next", (), True), ("loop", (1,), False), ("sine", (), False)],
)
def test_values_read_by_the_backward_pass_are_found(
    name: str,
    index: tuple[int, ...],
    expected: bool,  # noqa: FBT001 - a column of the table
    flow: ValueFlow,
) -> None:
    assert flow.feeds_backward(name, index) is expected


def test_a_missing_value_has_no_producer(flow: ValueFlow) -> None:
    assert flow.find_maker("none", ()) is None
    assert not flow.feeds_backward("none", ())


LENGTH = 1500
"""Links of a chain: more than Python can recurse."""


def make_chain(opcode: str, *, first: str = "x", shape: str = "s32[]") -> str:
    """Return instructions `link0`, `link1`, ..., each with the previous one as its operand."""
    names = [first, *(f"link{number}" for number in range(LENGTH))]
    lines = (f"  %{name} = {shape} {opcode}(%{before})" for before, name in pairwise(names))
    return "\n".join(lines)


LAST = f"link{LENGTH - 1}"


def test_the_maker_and_the_origin_of_a_value_are_found_at_the_end_of_a_long_chain() -> None:
    module = parse_module(
        f"HloModule m\n\nENTRY %main (p: s32[]) -> s32[] {{\n  %p = s32[] parameter(0)\n  %x = s32[] negate(%p)\n"
        f'{make_chain("copy")}\n  ROOT %out = s32[] abs(%{LAST}), metadata={{op_name="transpose(jvp())/abs"}}\n}}\n'
    )
    flow = ValueFlow(module)
    by_name = module.entry.by_name
    maker = flow.find_maker(LAST, ())
    assert maker is not None
    assert maker.instruction is by_name["x"]
    assert flow.find_origin(by_name[LAST]) is by_name["x"]
    assert flow.feeds_backward("x", ())
    assert list(flow.find_uses(by_name["x"])) == [(by_name["out"], by_name[LAST])]
    assert [flow.depends_on(by_name[LAST], opcode) for opcode in ("negate", "sine")] == [True, False]


def test_a_loop_carry_depends_on_its_initial_value_and_its_body() -> None:
    module = parse_module("""HloModule m, num_partitions=8

%body (p: (u32[], u32[], u32[])) -> (u32[], u32[], u32[]) {
  %p = (u32[], u32[], u32[]) parameter(0)
  %a = u32[] get-tuple-element(%p), index=0
  %b = u32[] get-tuple-element(%p), index=1
  %c = u32[] get-tuple-element(%p), index=2
  %next = u32[] add(%a, %a)
  %inner = u32[] partition-id()
  %other = u32[] add(%b, %inner)
  %third = u32[] add(%c, %c)
  ROOT %out = (u32[], u32[], u32[]) tuple(%next, %other, %third)
}

%condition (q: (u32[], u32[], u32[])) -> pred[] {
  %q = (u32[], u32[], u32[]) parameter(0)
  ROOT %go = pred[] constant(true)
}

ENTRY %main () -> u32[] {
  %id = u32[] partition-id()
  %zero = u32[] constant(0)
  %begin = (u32[], u32[], u32[]) tuple(%id, %zero, %zero)
  ROOT %loop = (u32[], u32[], u32[]) while(%begin), condition=%condition, body=%body
}
""")
    body = module.computation("body").by_name
    flow = ValueFlow(module)
    assert [flow.depends_on(body[name], "partition-id") for name in ("next", "other", "third")] == [True, True, False]


def test_an_element_of_a_tuple_has_the_uses_of_that_element_alone() -> None:
    module = parse_module("""HloModule m

ENTRY %main (x: f32[4], y: f32[4]) -> f32[4] {
  %x = f32[4] parameter(0)
  %y = f32[4] parameter(1)
  %pair = (f32[4], f32[4]) tuple(%x, %y)
  %first = f32[4] get-tuple-element(%pair), index=0
  %second = f32[4] get-tuple-element(%pair), index=1
  %sine = f32[4] sine(%first)
  ROOT %cosine = f32[4] cosine(%second)
}
""")
    by_name = module.entry.by_name
    assert [use.name for use, _ in ValueFlow(module).find_uses(by_name["x"])] == ["sine"]


def test_the_readers_of_a_kernel_are_found_at_the_end_of_a_long_chain() -> None:
    module = parse_module(
        f"HloModule m, is_scheduled=true\n\nENTRY %main (p: s32[]) -> s32[] {{\n  %p = s32[] parameter(0)\n"
        f"  %x = s32[] negate(%p)\n{make_chain('bitcast')}\n  %y = s32[] abs(%{LAST})\n"
        f"{make_chain('bitcast', first='y').replace('link', 'next')}\n"
        f"  ROOT %out = (s32[]) tuple(%{LAST.replace('link', 'next')})\n}}\n"
    )
    kernels = KernelParts(module)
    one, two = kernels.launches
    assert (kernels.readers(one), kernels.feeders(two)) == ((two,), (one,))
    assert [kernels.is_returned(launch) for launch in (one, two)] == [False, True]


def test_a_trip_count_behind_too_many_operations_is_unknown() -> None:
    text = """HloModule m

%body (p: s32[]) -> s32[] {{
  %p = s32[] parameter(0)
  %one = s32[] constant(1)
  %x = s32[] add(%p, %one)
{chain}
  ROOT %out = s32[] copy(%{last})
}}

%condition (q: s32[]) -> pred[] {{
  %q = s32[] parameter(0)
  %ten = s32[] constant(10)
  ROOT %go = pred[] compare(%q, %ten), direction=LT
}}

ENTRY %main () -> s32[] {{
  %zero = s32[] constant(0)
  ROOT %loop = s32[] while(%zero), condition=%condition, body=%body
}}
"""
    zeros = make_chain("copy")
    short = parse_module(text.format(chain=zeros, last=LAST))
    assert Loops(short).count_trips(short.entry.root) == 10
    adding = "  %none = s32[] constant(0)\n" + zeros.replace("copy(", "add(%none, ")
    long = parse_module(text.format(chain=adding, last=LAST))
    assert Loops(long).count_trips(long.entry.root) is None


@pytest.mark.parametrize(("second", "origin"), [("parameter(1)", "p"), ("copy(%x)", "x")])
def test_a_value_from_two_calls_has_the_origin_common_to_both(second: str, origin: str) -> None:
    module = parse_module(f"""HloModule m

%inner (p: f32[4]) -> f32[4] {{
  %p = f32[4] parameter(0)
  ROOT %same = f32[4] copy(%p)
}}

ENTRY %main (x: f32[4], y: f32[4]) -> f32[4] {{
  %x = f32[4] parameter(0)
  %y = f32[4] {second}
  %one = f32[4] call(%x), to_apply=%inner
  %two = f32[4] call(%y), to_apply=%inner
  ROOT %sum = f32[4] add(%one, %two)
}}
""")
    assert ValueFlow(module).find_origin(module.computation("inner").root).name == origin
