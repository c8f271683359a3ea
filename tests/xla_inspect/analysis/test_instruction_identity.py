"""An instruction keeps its number and its line of Python through every pass."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from programs import layer as small
from programs import transformer_block_grad as trained
from xla_inspect import Capture, capture
from xla_inspect.analysis.instruction_identity import LAST, follow_passes
from xla_inspect.analysis.instruction_lines import find_lines
from xla_inspect.analysis.op_lines import read_jaxpr_lines, read_stablehlo_lines
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.hlo import Module

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module", params=["cpu", "h100", "tpu-v5e"])
def layer(request: pytest.FixtureRequest) -> Capture:
    """The capture of the layer on each target."""
    return capture(small.layer, *small.EXAMPLE, target=request.param)


def test_there_is_a_state_for_the_import_and_one_for_each_pass(layer: Capture) -> None:
    states = list(follow_passes(layer))
    assert [state.name for state in states if state.name != LAST] == ["", *(step.name for step in layer.passes)]
    assert states[-1].module.instruction_count() == layer.module.instruction_count()


def test_a_number_belongs_to_one_instruction_of_a_state(layer: Capture) -> None:
    for state in follow_passes(layer):
        assert len(set(state.numbers.values())) == state.module.instruction_count()


def test_an_instruction_that_a_pass_keeps_keeps_its_number(layer: Capture) -> None:
    states = list(follow_passes(layer))
    for before, after in itertools.pairwise(states):
        change = after.change
        assert change is not None
        assert {instruction: after.numbers[instruction] for instruction in change.kept.values()} == {
            instruction: before.numbers[earlier] for earlier, instruction in change.kept.items()
        }


def test_the_product_has_one_number_from_import_to_the_end() -> None:
    states = list(follow_passes(capture(small.layer, *small.EXAMPLE)))
    numbers = [
        {number for instruction, number in state.numbers.items() if instruction.opcode == "dot"}
        for state in (states[0], states[-1])
    ]
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) == 1


def test_an_instruction_with_its_own_line_has_that_line(layer: Capture) -> None:
    lines = find_lines(layer, layer.module)
    for instruction in layer.module.walk():
        chain = layer.frames.get(instruction.stack_frame or 0, ())
        own = [(frame.file, frame.line) for frame in chain if frame.file in layer.sources]
        if own:
            assert (lines[instruction].file, lines[instruction].number) == own[0]
            assert lines[instruction].through == ""


def test_a_prefetch_has_the_line_of_its_user_and_is_marked() -> None:
    program = capture(small.layer, *small.EXAMPLE, target="tpu-v5e")
    lines = find_lines(program, program.module)
    prefetch = next(copy for copy in program.module.walk() if copy.opcode == "copy-start")
    assert lines[prefetch].number == program.source.splitlines().index("    return jax.nn.relu(x @ w + b)") + 1
    assert lines[prefetch].through != ""


def products_of_vectors(w: jax.Array, x: jax.Array) -> jax.Array:
    sines = jnp.sin(x)
    first = w @ sines
    bounded = jnp.tanh(first)
    return w @ bounded


def convolution_beside_sines(x: jax.Array, kernel: jax.Array) -> jax.Array:
    sines = jnp.sin(x)
    convolved = jax.lax.conv(sines, kernel, (1, 1), "SAME")
    return jnp.tanh(convolved)


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
@pytest.mark.parametrize(
    ("function", "shapes", "texts"),
    [
        (products_of_vectors, ((64, 64), (64,)), {"first = w @ sines", "return w @ bounded"}),
        (
            convolution_beside_sines,
            ((8, 16, 32, 32), (16, 16, 3, 3)),
            {'convolved = jax.lax.conv(sines, kernel, (1, 1), "SAME")'},
        ),
    ],
)
def test_a_product_without_metadata_never_gets_the_line_of_its_operand(
    target: str, function: Callable[..., jax.Array], shapes: tuple[tuple[int, ...], ...], texts: set[str]
) -> None:
    program = capture(function, *(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes), target=target)
    lines = find_lines(program, program.module)
    products = [instruction for instruction in program.module.walk() if instruction.opcode in {"convolution", "dot"}]
    source_lines = {
        program.sources[lines[instruction].file].splitlines()[lines[instruction].number - 1].strip()
        for instruction in products
    }
    assert source_lines == (texts if products else set())


@pytest.fixture(scope="module")
def vectors() -> Capture:
    """The capture of two products of vectors on the CPU."""
    return capture(products_of_vectors, *(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((64, 64), (64,))))


def write_module(capture: Capture, *lines: str) -> Module:
    """Return a module with a product without metadata, `dot`; `META` in a line stands for metadata of a source line."""
    number = next(number for number, chain in capture.frames.items() if chain and chain[0].file in capture.sources)
    text = "\n".join(
        [
            "HloModule m\n\nENTRY %main (p: f32[8,8], x: f32[8]) -> f32[8] {",
            "%p = f32[8,8] parameter(0)",
            "%x = f32[8] parameter(1)",
            "%sine = f32[8] sine(%x), META",
            "%dot = f32[8] dot(%p, %sine), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            *lines,
            "}\n",
        ]
    )
    return parse_module(text.replace("META", f'metadata={{op_name="jit(f)/dot_general" stack_frame_id={number}}}'))


def test_the_line_of_a_product_is_found_behind_many_bitcasts(vectors: Capture) -> None:
    bitcasts = [f"%b{place} = f32[8] bitcast(%{f'b{place - 1}' if place else 'dot'})" for place in range(1500)]
    module = write_module(vectors, *bitcasts, "ROOT %r = f32[8] bitcast(%b1499), META")
    assert find_lines(vectors, module)[module.instruction("dot")].through == "r"


def test_a_product_without_any_hint_of_its_line_has_none(vectors: Capture) -> None:
    module = write_module(vectors, "ROOT %r = f32[8] tanh(%dot), META")
    lines = find_lines(vectors, module)
    assert [name for name in ("sine", "dot", "r") if module.instruction(name) in lines] == ["sine", "r"]


def test_every_file_of_the_program_is_among_the_sources() -> None:
    program = capture(trained.transformer_block_grad, *trained.EXAMPLE)
    assert list(program.sources) == [
        "snippets/programs/transformer_block_grad.py",
        "snippets/programs/transformer_block.py",
    ]
    assert "def transformer_block(" in program.sources["snippets/programs/transformer_block.py"]


def test_lines_of_jaxpr_and_stablehlo_lead_to_python_and_lose_their_marks() -> None:
    program = capture(small.layer, *small.EXAMPLE)
    number = program.source.splitlines().index("    return jax.nn.relu(x @ w + b)") + 1
    place = (program.source_file, number)
    jaxpr, stablehlo = read_jaxpr_lines(program.jaxpr_locations), read_stablehlo_lines(program.stablehlo_locations)
    assert "\n".join(text for text, _ in jaxpr) == program.jaxpr
    assert [text for text, _ in stablehlo] == program.stablehlo.splitlines()
    assert {at for text, at in jaxpr if "dot_general" in text} == {place}
    # What relu is made of stands inside its equation.
    assert {at for text, at in jaxpr if " max " in text} == {place}
    assert {at for text, at in stablehlo if "stablehlo.dot_general" in text} == {place}
