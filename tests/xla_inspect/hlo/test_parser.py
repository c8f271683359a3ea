"""HLO text in every form is parsed, and invalid text is rejected with its place."""

from __future__ import annotations

import textwrap

import pytest

from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.attributes import unquote
from xla_inspect.hlo.frame import Frame
from xla_inspect.hlo.lines import read_instruction
from xla_inspect.hlo.module import HloLookupError, Instruction
from xla_inspect.hlo.parser import parse_module

MODULE = """\
HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}, num_partitions=4

FileNames
1 "main.py"
2 "nets/layer.py"

FunctionNames
1 "<module>"
2 "layer"

FileLocations
1 {file_name_id=1 function_name_id=1 line=20 end_line=20 column=8 end_column=40}
2 {file_name_id=2 function_name_id=2 line=5 end_line=6 column=0 end_column=3}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %c = f32[] constant(2)
  %b = f32[8]{0} broadcast(%c), dimensions={}
  ROOT %m = f32[8]{0} multiply(%p, %b), metadata={op_name="jit(f)/mul \\"it\\"" stack_frame_id=2}
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0), metadata={op_name="x"}
  %copy = f32[8]{0:S(1)} copy(%x), control-predecessors={%x}
  ROOT %fusion = f32[8]{0} fusion(%copy), kind=kLoop, calls=%fused, backend_config={"a":{"b":["}"]}}
}
"""


def line(text: str) -> Instruction:
    return read_instruction(text, 1, "main")


def in_entry(*lines: str, header: str = "") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule m{', ' * bool(header)}{header}\n\nENTRY %main (x: f32[]) -> f32[] {{\n{body}\n}}\n"


def failure(text: str) -> tuple[int, int, str]:
    with pytest.raises(HloSyntaxError) as caught:
        parse_module(text)
    return caught.value.line, caught.value.column, str(caught.value).partition(": ")[2]


def test_a_module_knows_its_header_and_its_computations() -> None:
    module = parse_module(MODULE)
    assert (module.name, module.is_scheduled, module.num_partitions) == ("jit_f", True, 4)
    assert module.entry_computation_layout == "{(f32[8]{0})->f32[8]{0}}"
    assert [(c.name, c.is_entry, len(c), c.root.name) for c in module.computations] == [
        ("fused", False, 4, "m"),
        ("main", True, 3, "fusion"),
    ]
    assert module.opcode_counts(entry_only=True) == {"parameter": 1, "copy": 1, "fusion": 1}
    assert module.instruction_count() == 7


def test_a_fusion_names_its_computation() -> None:
    module = parse_module(MODULE)
    fusion = module.instruction("fusion")
    assert (fusion.fusion_kind, fusion.calls, fusion.is_root) == ("kLoop", {"calls": ("fused",)}, True)
    assert module.called(fusion) == (module.computation("fused"),)
    assert fusion.backend_config == '{"a":{"b":["}"]}}'
    assert fusion.text == next(line for line in MODULE.splitlines() if "%fusion" in line)


def test_users_and_operands_lead_to_instructions() -> None:
    module = parse_module(MODULE)
    copy = module.instruction("copy")
    assert module.users(module.instruction("x")) == (copy,)
    assert module.operands(module.instruction("fusion")) == (copy,)
    assert copy.control_predecessors == ("x",)
    assert copy.shape.layout is not None
    assert copy.shape.layout.memory_space == 1


def test_metadata_is_unquoted() -> None:
    multiply = parse_module(MODULE).instruction("m")
    assert (multiply.op_name, multiply.stack_frame) == ('jit(f)/mul "it"', 2)


def test_escapes_are_decoded() -> None:
    assert unquote(r'"caf\303\251 \"x\"\n\\"') == 'caf\u00e9 "x"\n\\'


def test_a_stack_frame_resolves_to_its_callers_innermost_first() -> None:
    layer = Frame(file="nets/layer.py", function="layer", line=5, column=1, end_line=6, end_column=4)
    outer = Frame(file="main.py", function="<module>", line=20, column=9, end_line=20, end_column=41)
    assert parse_module(MODULE).frames() == {1: (outer,), 2: (layer, outer)}


def test_names_with_and_without_operand_shapes_are_read_equally() -> None:
    bare = line('  ROOT a.1 = f32[2]{0} add(f32[2]{0} x, /*index=1*/f32[2]{0} y), metadata={op_name="add"}')
    assert (bare.name, bare.operands, bare.is_root) == ("a.1", ("x", "y"), True)
    assert [shape.text for shape in bare.operand_shapes or ()] == ["f32[2]{0}", "f32[2]{0}"]


def test_calls_are_found_without_percent_signs() -> None:
    loop = line("  w = (s32[]) while(t), condition=cond.1, body=body.1")
    assert loop.calls == {"condition": ("cond.1",), "body": ("body.1",)}


def test_a_short_asynchronous_form_names_its_wrapped_opcode() -> None:
    module = parse_module(
        in_entry(
            "%x = f32[8]{0} parameter(0)",
            "%s = ((f32[8]{0}), f32[2]{0}, s32[]) slice-start(%x), slice={[0:2]}",
            "%d = f32[2]{0} slice-done(%s)",
            "%g = ((f32[8]{0}), f32[16]{0}) all-gather-start(%x), dimensions={0}",
            "%e = f32[16]{0} all-gather-done(%g)",
            "%h = (f32[8]{0}, f32[16]{0}) all-gather-start(%x), dimensions={0}",
            "ROOT %f = f32[16]{0} all-gather-done(%h)",
        )
    )
    assert [(i.name, i.opcode, i.wrapped) for i in module.entry][1:] == [
        ("s", "async-start", "slice"),
        ("d", "async-done", "slice"),
        ("g", "async-start", "all-gather"),
        ("e", "async-done", "all-gather"),
        ("h", "all-gather-start", None),
        ("f", "all-gather-done", None),
    ]


def test_computations_inside_attributes_are_read() -> None:
    module = parse_module(
        textwrap.dedent("""\
        HloModule canonical

        ENTRY main {
          tmp_0 = s32[] parameter(0)
          tmp_1 = f32[] parameter(1)
          tmp_2 = f32[] fusion(f32[] tmp_1), kind=kLoop, calls=
          {
            tmp_0 = f32[] parameter(0)
            ROOT tmp_1 = f32[] sine(f32[] tmp_0)
          }
          ROOT tmp_3 = f32[] conditional(s32[] tmp_0, f32[] tmp_2, f32[] tmp_2), branch_computations={
          {
            ROOT tmp_0 = f32[] parameter(0)
          },
          {
            tmp_0 = f32[] parameter(0)
            ROOT tmp_1 = f32[] cosine(f32[] tmp_0)
          }
        }
        }
        """)
    )
    fusion, conditional = module.entry.instructions[2:]
    assert [[i.opcode for i in c] for c in module.called(fusion)] == [["parameter", "sine"]]
    assert [c.root.opcode for c in module.called(conditional)] == ["parameter", "cosine"]


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("  %c = f32[2,2]{1,0} constant({ {1, -2}, {nan, inf} })", "{ {1, -2}, {nan, inf} }"),
        ('  %c = pred[] constant(true), metadata={op_name="x"}', "true"),
        ("  %c = c64[2]{0} constant({(1, 2), (3, -4)})", "{(1, 2), (3, -4)}"),
        ("  %c = f32[99]{0} constant({...})", "{...}"),
    ],
)
def test_literals_are_kept_as_written(text: str, literal: str) -> None:
    constant = line(text)
    assert (constant.literal, constant.operands) == (literal, ())


def test_attributes_keep_their_text_and_order() -> None:
    call = line(
        "  %r = f32[] custom-call(%a), replica_groups=mesh['a'=4,'b'=2] {'a'}, sharding={mesh[], [{}, {\"a\"}]}, "
        'groups=[4,2]<=[2,4]T(1,0), custom_call_target="f \\"(,{", window={size=2x2 pad=0_0x1_1}'
    )
    assert call.attributes == {
        "replica_groups": "mesh['a'=4,'b'=2] {'a'}",
        "sharding": '{mesh[], [{}, {"a"}]}',
        "groups": "[4,2]<=[2,4]T(1,0)",
        "custom_call_target": '"f \\"(,{"',
        "window": "{size=2x2 pad=0_0x1_1}",
    }
    assert call.custom_call_target == 'f "(,{'


def test_brackets_may_nest_deeper_than_the_fast_pattern_reads() -> None:
    deep = "(" * 30 + "f32[]" + ")" * 30
    assert line(f"  %t = {deep} tuple(%a)").shape.text == deep


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (1, 1, "expected 'HloModule'")),
        ("Module x", (1, 1, "expected 'HloModule' and a name, 'ENTRY', a computation")),
        ("HloModule m, x", (1, 15, "the text is cut off: it ends in the middle of line 1")),
        ("HloModule m, x\n\nENTRY", (1, 14, "expected an attribute")),
        (in_entry("ROOT %x = f32[] parameter(0)", header="num_partitions=x"), (1, 14, "num_partitions is no number")),
        (in_entry("ROOT %x = f32[] parameter(0)", header="replica_count=-1"), (1, 14, "replica_count is no number")),
        ("HloModule m\n\nnonsense\n", (3, 1, "expected a computation")),
        ("HloModule m\n", (1, 12, "the text is cut off: it ends in the middle of line 1")),
        ("HloModule m\n\nENTRY %e (x: f32[]) -> f32[] {\n", (3, 31, "the text is cut off: it ends in the middle of")),
        (in_entry("ROOT %x = f32[] parametr(0)"), (4, 19, "unknown opcode 'parametr'")),
        (in_entry("ROOT %x = f33[] parameter(0)"), (4, 13, "unknown element type")),
        (in_entry("ROOT %x = f32[2]{1} parameter(0)"), (4, 20, "the layout {1}")),
        (in_entry("ROOT %x = f32[] parameter(a)"), (4, 29, "expected the number of a parameter")),
        (in_entry("ROOT %x = f32[] parameter(0), metadata={op_name=}"), (4, 51, "expected the value of a field")),
        (in_entry("ROOT %x = f32[] parameter(0"), (5, 1, "expected ')' for the '(' of line 4, column 28")),
        (in_entry("%x = f32[] parameter(0)", "ROOT %y = f32[] add(%x, %z)"), (5, 28, "operand 'z' is not defined")),
        (in_entry("%x = f32[] parameter(0)", "ROOT %x = f32[] sine(%x)"), (5, 25, "'x' is defined twice")),
        (in_entry("ROOT %x = f32[] fusion(), kind=kLoop, calls=%f"), (4, 48, "computation 'f' is not defined")),
        (in_entry("ROOT %x = f32[] add(%a, $)"), (4, 27, "expected HLO")),
        (in_entry("ROOT %x = f32[] fusion(), kind=kLoop"), (4, 20, "expected the computation that fusion calls")),
    ],
)
def test_unparsable_text_is_rejected_with_its_place(text: str, expected: tuple[int, int, str]) -> None:
    at, column, message = failure(text)
    assert (at, column) == expected[:2]
    assert message.startswith(expected[2])


def test_a_frame_that_calls_itself_is_rejected() -> None:
    at, _, message = failure(
        MODULE.replace("2 {file_location_id=2 parent_frame_id=2}", "2 {file_location_id=2 parent_frame_id=3}")
    )
    assert (MODULE.splitlines()[at - 1], message) == (
        "2 {file_location_id=2 parent_frame_id=2}",
        "stack frame 2 is its own caller",
    )


@pytest.mark.parametrize(("callee", "name"), [("g", "f"), ("f", "f")])
def test_a_computation_that_calls_itself_directly_or_through_another_is_rejected(callee: str, name: str) -> None:
    bodies = [
        f"%{one} {{\n  %{one}.y = f32[] call(), to_apply=%leaf\n  ROOT %{one}.x = f32[] call(), to_apply=%{to}\n}}\n"
        for one, to in (("f", callee), ("g", "f"))
    ]
    bodies.append("%leaf {\n  ROOT %one = f32[] constant(1)\n}\n")
    text = "HloModule m\n\n" + "\n".join(bodies) + "\nENTRY %e {\n  ROOT %x = f32[] call(), to_apply=%g\n}\n"
    at, _, message = failure(text)
    assert message == f"computation {name!r} calls itself"
    assert text.splitlines()[at - 1].endswith(f"to_apply=%{name}")


def test_an_unknown_name_is_rejected_with_the_available_ones() -> None:
    module = parse_module(MODULE)
    with pytest.raises(HloLookupError, match="has no computation 'nope'; it has fused, main"):
        module.computation("nope")
    with pytest.raises(HloLookupError, match="has 0 instructions 'nope'"):
        module.instruction("nope")


def test_equal_parts_of_texts_are_shared_between_modules() -> None:
    first = parse_module(MODULE)
    second = parse_module(MODULE.replace("kind=kLoop", "kind=kInput"))
    assert second.computation("fused") is first.computation("fused")
    assert second.instruction("copy") is first.instruction("copy")
    assert [module.instruction("fusion").fusion_kind for module in (first, second)] == ["kLoop", "kInput"]
    assert parse_module(MODULE.replace("main", "other")).instruction("copy").computation == "other"


def test_an_error_in_partly_cached_text_has_its_place() -> None:
    module = parse_module(MODULE)
    fused = MODULE[MODULE.index("%fused") : MODULE.index("ENTRY")]
    without, twice = MODULE.replace(fused, ""), MODULE.replace(fused, fused * 2)
    fusion = without.splitlines().index(module.instruction("fusion").text) + 1
    assert failure(without)[::2] == (fusion, "computation 'fused' is not defined")
    header = twice.rindex("%fused (")
    assert failure(twice) == (twice.count("\n", 0, header) + 1, 1, "computation 'fused' is defined twice")


def test_shared_parts_are_immutable() -> None:
    fusion = parse_module(MODULE).instruction("fusion")
    with pytest.raises(TypeError, match="does not support item assignment"):
        fusion.attributes["kind"] = "kInput"  # type: ignore[index]  # which is what is tried
    with pytest.raises(AttributeError, match="cannot assign"):
        fusion.name = "other"  # type: ignore[misc]  # likewise


@pytest.mark.parametrize(
    ("alias", "aliases"),
    [
        ("", {}),
        (", input_output_alias={ {}: (2, {}, may-alias) }", {(): 2}),
        (
            ", input_output_alias={ {0}: (1, {}, may-alias), {1, 2}: (10, {0}, must-alias) }",
            {(0,): 1, (1, 2): 10},
        ),
    ],
)
def test_an_output_aliased_to_a_parameter_is_found_by_its_index(
    alias: str, aliases: dict[tuple[int, ...], int]
) -> None:
    text = f"HloModule m{alias}\n\nENTRY e {{\n  ROOT p = f32[] parameter(0)\n}}\n"
    assert parse_module(text).aliases == aliases


def test_a_called_computation_is_found_with_or_without_a_percent_sign() -> None:
    text = (
        "HloModule m\n\nsum (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
        "  ROOT %c = f32[] add(a, b)\n}\n\nENTRY e (x: f32[2], z: f32[]) -> f32[] {\n  %x = f32[2]{0} parameter(0)\n"
        "  %z = f32[] parameter(1)\n  ROOT %r = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n}\n"
    )
    assert dict(parse_module(text).entry.root.calls) == {"to_apply": ("sum",)}


def test_callees_are_found_in_the_bare_names_of_releases_before_2026() -> None:
    module = parse_module("""\
HloModule jit_step, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

fused (p.1: f32[4]) -> f32[4] {
  p.1 = f32[4]{0} parameter(0)
  ROOT sine.2 = f32[4]{0} sine(p.1)
} // fused

ENTRY main.3 {
  Arg_0.1 = f32[4]{0} parameter(0)
  loop.1 = f32[4]{0} fusion(Arg_0.1), kind=kLoop, calls=fused, metadata={op_name="jit(step)/sin" source_line=4}
  ROOT loop.2 = f32[4]{0} fusion(loop.1), kind=kLoop, calls=fused
} // main.3
""")
    assert [dict(instruction.calls) for instruction in module.entry] == [
        {},
        {"calls": ("fused",)},
        {"calls": ("fused",)},
    ]


def test_a_handwritten_module_with_a_schedule_may_omit_entry() -> None:
    module = parse_module("HloModule m, is_scheduled=true\n\nmain {\n  ROOT x = f32[] parameter(0)\n}\n")
    assert (module.entry.name, module.is_scheduled) == ("main", True)
