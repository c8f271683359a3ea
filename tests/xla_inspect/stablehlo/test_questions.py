"""Questions and comparisons whose subject is a file with StableHLO."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax import export
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from xla_inspect.commands import build_parser, run_here
from xla_inspect.subject import write_subject

from .conftest import LAYER

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTION = "import jax, jax.numpy as jnp\ndef f(x): return jnp.tanh(x)\n"
UNKNOWN = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @nothing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A function that runs a command for the CPU, and returns its status, its output and its messages."""

    def run(*words: str) -> tuple[int, str, str]:
        status = run_here([*words, "--target", "cpu"])
        out, err = capsys.readouterr()
        return status, " ".join(out.split()), " ".join(err.split())

    return run


@pytest.fixture
def open_program(write: Callable[..., str]) -> str:
    """The name of a file whose program leaves the size `batch` open."""
    (batch,) = export.symbolic_shape("batch")
    exported = export.export(jax.jit(jnp.tanh))(jax.ShapeDtypeStruct((batch,), jnp.float32))
    return write("open.jaxexport", bytes(exported.serialize()))


def test_a_collective_of_the_program_is_requested_by_it(write: Callable[..., str], ask: Callable[..., object]) -> None:
    mesh = jax.sharding.AbstractMesh((4,), ("data",), axis_types=(AxisType.Auto,))
    total = jax.shard_map(lambda x: jax.lax.psum(x, "data"), mesh=mesh, in_specs=P("data"), out_specs=P())
    with jax.sharding.use_abstract_mesh(mesh):
        traced = jax.jit(total).trace(jax.ShapeDtypeStruct((8, 16), jnp.float32))
        text = traced.lower(lowering_platforms=("cpu",)).as_text()
    # Without locations, XLA names each operation by the path of StableHLO operations.
    answer = str(ask("collectives", write("m.mlir", text)))
    assert "Requested by the program" in answer
    assert "Added by the partitioner" not in answer


def test_a_follow_up_question_repeats_the_open_sizes() -> None:
    parser, _ = build_parser("memory")
    options = parser.parse_args(["memory", "open.jaxexport", "--dim", "batch=4"])
    assert write_subject(options) == "open.jaxexport --dim batch=4"


def test_two_sizes_of_one_program_are_compared(open_program: str, ask: Callable[..., tuple[int, str, str]]) -> None:
    status, out, _ = ask("diff", open_program, "--dim", "batch=8", "--with=--dim=batch=16")
    assert (status, "peak memory 64 B -> 128 B" in out) == (1, True)


def test_each_side_of_a_comparison_gets_the_options_that_apply_to_it(
    open_program: str, write: Callable[..., str], ask: Callable[..., tuple[int, str, str]]
) -> None:
    name = write("model.py", FUNCTION)
    status, out, err = ask("diff", f"{name}:f", open_program, "--args", "f32[8]", "--dim", "batch=8")
    assert (status, "both programs are the same" in out) == (0, True), err


def test_a_program_that_does_not_compile_is_not_counted(
    write: Callable[..., str], ask: Callable[..., tuple[int, str, str]]
) -> None:
    status, out, _ = ask("diff", write("bad.mlir", UNKNOWN), write("good.mlir", LAYER))
    assert status == 1
    assert "bad.mlir -> good.mlir: bad.mlir does not compile." in out
    assert "kernel" not in out


def test_changes_that_need_the_python_function_are_not_tried(
    write: Callable[..., str], ask: Callable[..., tuple[int, str, str]]
) -> None:
    status, out, err = ask("memory", write("layer.mlir", LAYER), "--try", "all")
    assert (status, "a batch of" in out, "scheduler_type" in out) == (0, False, True)
    assert "these changes need the Python function, so they are not tried: remat, batch" in err


def test_hlo_next_to_stablehlo_is_listed_and_opened_by_the_name_of_its_file(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    write("layer.mlir", LAYER)
    write("later.mlir", "module {")
    write("other.hlo", "HloModule m\n\nENTRY main {\n  ROOT a = f32[] parameter(0)\n}\n")
    assert [run_here(["read", subject]) for subject in (".", ".:other.hlo")] == [0, 0]
    out = capsys.readouterr().out
    assert ". contains 1 program as StableHLO" in out
    assert "1 other cannot be compiled:" in out
    assert "It also contains 1 HLO module, such as .:m." in out
    assert "xla-inspect summary .:other.hlo" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kernels", "model.py:f", "--dim", "z=8"], "give all shapes of f with --args"),
        (["kernels", "layer.mlir", "--only", "f"], "name one of StableHLO as in layer.mlir:f"),
        (["kernels", "layer.mlir", "--dim", "b=8", "--dim", "b=9"], "b already has the size 8"),
        (["kernels", "layer.mlir", "--dim", "b=0"], "its size, which is at least 1"),
        (["kernels", "later.mlir"], "there is no file later.mlir; did you mean layer.mlir?"),
        (["kernels", "later.mlir:main"], "there is no file later.mlir; did you mean layer.mlir?"),
        (["since", "layer.mlir"], "'layer.mlir' is StableHLO, which one release lowered"),
    ],
)
def test_an_option_or_file_that_does_not_fit_is_reported(
    words: list[str], message: str, write: Callable[..., str], ask: Callable[..., tuple[int, str, str]]
) -> None:
    write("layer.mlir", LAYER)
    write("model.py", FUNCTION)
    status, _, err = ask(*words)
    assert (status, message in err) == (2, True), err


def test_the_playground_edits_python_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(["play", "layer.mlir", "--no-browser"]) == 2
    assert "the playground edits Python files, and 'layer.mlir' is not" in capsys.readouterr().err


def test_a_donation_is_tried_with_a_program_as_stablehlo(
    write: Callable[..., str], ask: Callable[..., tuple[int, str, str]]
) -> None:
    kind = "tensor<64xf32>"
    text = f"func.func @f(%x: {kind}) -> {kind} {{\n  %0 = stablehlo.tanh %x : {kind}\n  return %0 : {kind}\n}}\n"
    _, out, _ = ask("memory", write("a.mlir", text), "--try", "donate")
    assert "donate argument 0" in out


def test_a_value_of_a_text_means_its_definition_and_no_line_of_that_number(
    write: Callable[..., str], ask: Callable[..., tuple[int, str, str]]
) -> None:
    name = write("layer.mlir", LAYER)
    # The value %0 is defined in lines 3 and 9; `%3` is no value, although line 3 exists.
    assert "layer.mlir:3" in ask("why", name, "%0")[1]
    status, _, message = ask("why", name, "%3")
    assert (status, "has no instruction, variable or operation '%3'" in message) == (2, True)
