"""HLO that people write is read as XLA's own parser reads it, and what is written back means the same to it."""

from __future__ import annotations

import re

import pytest
from handwritten import MODULES
from jaxlib import _hlo

from xla_inspect import jax_private
from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo import Module, Shape, parse_module, write_module

_HEAD = re.compile(r"^(?:ENTRY )?(\S+) \{$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
each_module = pytest.mark.parametrize("text", MODULES.values(), ids=MODULES)


def print_canonically(text: str) -> str:
    """Return how XLA prints the meaning of a module, its computations numbered."""
    printed = _hlo.hlo_module_from_text(text).to_string(_hlo.HloPrintOptions.canonical())
    numbers = {name: f"computation_{number}" for number, name in enumerate(dict.fromkeys(_HEAD.findall(printed)))}
    return _NAME.sub(lambda name: numbers.get(name[0], name[0]), printed)


def describe(shape: Shape) -> str:
    """Return a shape with its layout, the default one where none was written."""
    if shape.is_tuple:
        return f"({', '.join(map(describe, shape.elements))})"
    layout = shape.layout
    order = layout.minor_to_major if layout else tuple(range(shape.rank))[::-1]
    return f"{shape.plain}{order}{(layout.tiles, layout.memory_space) if layout else ((), 0)}"


def list_instructions(module: Module) -> list[list[tuple[object, ...]]]:
    """Return what each computation holds, names apart, which XLA changes where two are alike."""
    found = []
    for computation in module.computations:
        place = {instruction.name: number for number, instruction in enumerate(computation)}
        found.append(
            [
                (
                    instruction.opcode,
                    describe(instruction.shape),
                    [place[operand] for operand in instruction.operands],
                    instruction.parameter_number,
                    instruction.is_root,
                    sorted(set(instruction.attributes) - {"metadata", "frontend_attributes", "backend_config"}),
                    dict(instruction.metadata),
                )
                for instruction in computation
            ]
        )
    return found


@each_module
def test_a_module_is_read_as_xlas_own_parser_reads_it(text: str) -> None:
    module, printed = parse_module(text), parse_module(jax_private.parse_hlo(text))
    assert (module.name, module.entry.root.opcode) == (printed.name, printed.entry.root.opcode)
    # XLA prints the elements that are picked where they are used as instructions of their own.
    if not any(instruction.operand_indices for instruction in module.walk()):
        assert sorted(map(str, list_instructions(module))) == sorted(map(str, list_instructions(printed)))


@each_module
def test_what_is_written_back_means_the_same_to_xla(text: str) -> None:
    assert print_canonically(write_module(parse_module(text))) == print_canonically(text)


@each_module
def test_what_is_written_is_read_again_as_it_was(text: str) -> None:
    module = parse_module(text)
    again = parse_module(write_module(module))
    assert list_instructions(again) == list_instructions(module)
    assert again.frames() == module.frames()


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("HloModule m /* never closed", (1, 13), "expected '*/' after this, found the end"),
        ('HloModule m, a="x', (1, 16), 'expected " that closes this string, found the end'),
        ("HloModule m\n a { x = f32[] parameter(0) }\n // b\n a { y = f32[] constant(1) }", (4, 2), "is defined twice"),
        ("ENTRY e {\n x = f32[] parameter(0)\n y = add(x,\n   z)\n}", (3, 6), "operand 'z' is not defined"),
        ("ENTRY e {\n  x = f32[] parameter(0)\n  y = convert(x)\n}", (3, 7), "expected a shape before 'convert'"),
        ("ENTRY e {\n  x =\n   f33[2] parameter(0)\n}", (3, 4), "unknown element type 'f33'"),
        ("ENTRY e {\n  x = f32[2] constant({1, 2}\n}", (3, 1), "expected ')' for the '(' of line 2, column 22"),
        ("ENTRY e { x = f32[] parametr(0) }", (1, 21), "unknown opcode 'parametr'"),
        ("ENTRY e { x = f32[] parameter(0) \x1b[2J }", (1, 34), "expected HLO, found '\\x1b'"),
        ("ENTRY e { x = f32[] parameter(0), a }", (1, 35), "expected an attribute such as dimensions={0}, found 'a }'"),
        ("x = f32[] add(f32[] a, f32[] b) y", (1, 33), "expected the end, since one instruction came without a module"),
    ],
)
def test_a_mistake_is_named_with_what_was_expected_and_where(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(HloSyntaxError) as caught:
        parse_module(text)
    assert (caught.value.line, caught.value.column) == place
    assert message in caught.value.message
