"""Shapes with layout, tiles, memory space and size in bytes."""

from __future__ import annotations

import pytest
from protos import hlo_proto

from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.shape import BITS, Layout, parse_shape


def test_an_array_has_dimensions_and_a_layout() -> None:
    shape = parse_shape("bf16[64,128]{1,0:T(8,128)(2,1)S(1)}")
    assert (shape.dtype, shape.dimensions, shape.rank, shape.size, shape.bytes) == ("bf16", (64, 128), 2, 8192, 16384)
    fields = (("T", "(8,128)(2,1)"), ("S", "(1)"))
    assert shape.layout == Layout((1, 0), ((8, 128), (2, 1)), memory_space=1, element_bits=0, fields=fields)


def test_dynamic_dimensions_keep_their_bound() -> None:
    shape = parse_shape("f32[<=8,?,3]{2,1,0}")
    assert (shape.dimensions, shape.dynamic) == ((8, -1, 3), (True, True, False))
    assert shape.plain == "f32[<=8,?,3]"


def test_a_tuple_nests_and_adds_up() -> None:
    shape = parse_shape("((f32[8]{0}, token[]), /*index=1*/s4[3]{0:E(4)}, pred[])")
    assert [leaf.text for leaf in shape.leaves()] == ["f32[8]{0}", "token[]", "s4[3]{0:E(4)}", "pred[]"]
    assert shape.bytes == 32 + 0 + 2 + 1
    assert shape.at((0, 0)).dimensions == (8,)


@pytest.mark.parametrize(
    ("text", "padded"),
    [
        ("f32[5,100]{1,0:T(8,128)}", 8 * 128 * 4),
        ("f32[5,100]{0,1:T(8,128)}", 104 * 128 * 4),
        ("f32[]{:T(128)}", 512),
        ("s4[64]{0:T(1024)(128)(8,1)E(4)}", 512),
        ("u32[]{:T(128)S(2)}", 4),
        ("f32[5,100]{1,0}", 2000),
    ],
)
def test_tiles_pad_the_bytes(text: str, padded: int) -> None:
    assert parse_shape(text).padded_bytes == padded


def test_every_element_type_of_the_compiler_is_known() -> None:
    fields = hlo_proto()().hlo_module.computations.add().instructions.add().shape.DESCRIPTOR.fields_by_name
    theirs = {value.name.lower() for value in fields["element_type"].enum_type.values}
    spelled = {"opaque_type": "opaque"}
    structures = {"primitive_type_invalid", "tuple", "buffer"}
    assert {spelled.get(name, name) for name in theirs - structures} == set(BITS)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("f32", 1),
        ("f32[8", 1),
        ("f32[8,a]", 7),
        ("f32[8]{1}", 8),
        ("f32[8]{0:}", 10),
        ("f32[8]{0:Q(1)}", 10),
        ("(f32[8]", 8),
        ("(f32[8] s32[])", 9),
        ("f32[8]{0} ", 10),
        ("(" * 100, 65),
        ("f32[99999999999999999999]", 5),
    ],
)
def test_an_invalid_shape_is_rejected_with_its_place(text: str, column: int) -> None:
    with pytest.raises(HloSyntaxError) as caught:
        parse_shape(text)
    assert (caught.value.line, caught.value.column) == (1, column)
