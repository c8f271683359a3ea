"""A program's functions, arguments and shardings are read from its module, and faults are named with their place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from xla_inspect import InspectError, jax_private
from xla_inspect.stablehlo import find_file, list_functions, read_module

from .conftest import LAYER

if TYPE_CHECKING:
    from collections.abc import Callable

    from jax import export

    from xla_inspect.stablehlo.parsing import ProgramModule

QUANTIZED = "tensor<4x!quant.uniform<i8:f32, 0.5>>"
QUANTIZE = f"%1 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> {QUANTIZED}"
DEQUANTIZE = f"%0 = stablehlo.uniform_dequantize %1 : ({QUANTIZED}) -> tensor<4xf32>"
ADD = "%0 = stablehlo.add %x, %x : tensor<4xf32>"


def read(write: Callable[..., str], content: str | bytes, suffix: str = "") -> ProgramModule:
    file = find_file(write("a.mlir", content) + suffix)
    assert file
    return read_module(file)


def wrap(body: str, kind: str = "tensor<4xf32>", name: str = "@main", attributes: str = "") -> str:
    return f"  func.func {name}(%x: {kind} {attributes}) -> {kind} {{\n    {body}\n    return %0 : {kind}\n  }}\n"


def test_the_arguments_and_results_of_main_are_listed(write: Callable[..., str]) -> None:
    program = read(write, LAYER)
    assert program.name == "dense"
    assert program.describe() == ("arg0: float32[64,128], arg1: float32[128,256]", "float32[64,256]", "")


def test_a_text_without_a_module_around_it_is_one(write: Callable[..., str]) -> None:
    assert read(write, wrap(ADD, name="@double")).name == "double"
    assert read(write, f'module @"reactant_f..." {{\n{wrap(ADD)}}}\n').name == "reactant_f"


def test_the_function_that_no_other_calls_is_chosen_unless_one_is_named(write: Callable[..., str]) -> None:
    text = wrap(ADD, name="@inner") + wrap("%0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>", name="@outer")
    assert [read(write, text).name, read(write, text, ":inner").name] == ["outer", "inner"]
    assert list_functions(find_file("a.mlir")) == ["outer"]  # type: ignore[arg-type]


def test_a_function_that_calls_one_named_main_becomes_the_main_one(write: Callable[..., str]) -> None:
    outer = wrap("%0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>", name="@outer")
    program = read(write, wrap(ADD, name="private @main") + outer, ":outer")
    assert b"other_than_outer" in program.bytecode


def test_an_operation_of_another_function_does_not_stop_the_answer(write: Callable[..., str]) -> None:
    other = wrap("%0 = arith.addf %x, %x : tensor<4xf32>", name="@other")
    other += wrap('%0 = "tf.Tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>', name="@third")
    other += wrap(f"{QUANTIZE}\n{DEQUANTIZE}", name="@fourth")
    program = read(write, wrap(ADD, name="private @double") + other, ":double")
    assert not re.search(rb"arith|tf\.|quant", program.bytecode)


def test_a_copy_of_a_variable_is_removed_because_only_the_cpu_knows_it(write: Callable[..., str]) -> None:
    assert b"mhlo" not in read(write, wrap("%1 = mhlo.copy %x : tensor<4xf32>\n" + ADD.replace("%x", "%1"))).bytecode


def test_attributes_of_a_dialect_that_xla_does_not_know_are_removed(write: Callable[..., str]) -> None:
    unknown = '{enzymexla.guaranteed = [#enzymexla<guaranteed YES>], jax.result_info = "y"}'
    program = read(write, wrap(f"%0 = stablehlo.add %x, %x {unknown} : tensor<4xf32>", attributes=unknown))
    assert (b"enzymexla" in program.bytecode, program.bytecode.count(b"jax.result_info")) == (False, 1)


def test_an_artifact_without_a_version_in_front_is_read(write: Callable[..., str]) -> None:
    stablehlo, ir = jax_private.load_stablehlo(), jax_private.load_mlir()
    artifact = stablehlo.serialize_portable_artifact_str(wrap(ADD), stablehlo.get_current_version())
    with jax_private.make_context():
        content = jax_private.write_bytecode(ir.Module.parse(artifact))
    assert not content.startswith(b"ML\xefR\rStableHLO")
    assert read(write, content).describe()[0] == "arg0: float32[4]"


def test_the_number_of_devices_is_that_of_the_annotations_if_the_module_has_none(write: Callable[..., str]) -> None:
    sharded = '%0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[4]0,1,2,3}"} : '
    assert read(write, wrap(f"{sharded}(tensor<4xf32>) -> tensor<4xf32>")).axes == {"axis0": 2, "axis1": 2}


def test_a_constant_without_its_value_is_an_argument(write: Callable[..., str]) -> None:
    constant = "%c = stablehlo.constant dense_resource<__elided__> : tensor<4xf32>\n"
    text = wrap(constant + "%0 = stablehlo.add %c, %x : tensor<4xf32>")
    for form in ("dense_resource<__elided__>", 'dense<"__elided__">', "dense<__elided__>"):
        program = read(write, text.replace("dense_resource<__elided__>", form))
        assert program.elided == ("elided0",)
        assert program.describe()[0] == "arg0: float32[4], elided0: float32[4]"
    text = text.replace("@main", "@inner") + wrap("%0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>")
    with pytest.raises(InspectError, match="in functions that the program calls"):
        read(write, text)


def test_one_of_several_functions_has_to_be_named(write: Callable[..., str]) -> None:
    text = wrap(ADD, name="@first") + wrap(ADD, name="@second")
    with pytest.raises(
        InspectError, match=r"a.mlir has 2 functions, such as first, second; name one, as in a.mlir:first"
    ):
        read(write, text)
    assert list_functions(find_file("a.mlir")) == ["first", "second"]  # type: ignore[arg-type]


def test_a_file_of_jax_export_has_the_names_of_its_parameters(
    write: Callable[..., str], exported: export.Exported
) -> None:
    program = read(write, bytes(exported.serialize()))
    assert (program.name, program.platforms) == ("layer", ("cpu",))
    assert [array.name for array in program.arguments] == ["x", "w", "b"]


class Fault(NamedTuple):
    """A file that cannot be compiled, and the message about it."""

    content: str | bytes
    message: str
    suffix: str = ""


FAULTS = {
    "a cut-off file of jax.export": Fault(
        b"\0" * 9 + b"ML\xefR", "cannot read a.mlir; it is cut off (13 bytes), damaged or"
    ),
    "empty": Fault(" \n", "a.mlir has no public function with a body"),
    "unknown operation": Fault(
        wrap("%0 = stablehlo.tanhh %x : tensor<4xf32>"), "a.mlir:2:10: custom op 'stablehlo.tanhh' is unknown"
    ),
    "unknown dialect": Fault(
        wrap("%0 = torch.aten.tanh %x : tensor<4xf32>"),
        "a.mlir:2:10: Dialect `torch' not found for custom op 'torch.aten.tanh'; convert the program to StableHLO",
    ),
    "dialect in generic form": Fault(
        wrap('%0 = "tf.Tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>'),
        "a.mlir:2:10: 'tf.Tanh' is of a dialect that XLA does not compile; convert the program to StableHLO",
    ),
    "quantized argument": Fault(
        wrap("%0 = stablehlo.add %x, %x : " + QUANTIZED, QUANTIZED), "a.mlir: arg0 is a tensor<4x!quant.uniform<i8:f32,"
    ),
    "quantized values": Fault(wrap(f"{QUANTIZE}\n{DEQUANTIZE}"), "a.mlir computes with quantized types, which XLA"),
    "cut off": Fault(LAYER[:300], "a.mlir:5:42: expected non-function type, where the text is cut off"),
    "types that differ": Fault(wrap("%0 = stablehlo.add %x, %x : tensor<5xf32>"), "a.mlir:2:"),
    "no function": Fault("module {\n}\n", "a.mlir has no public function with a body"),
    "another function": Fault(LAYER, "a.mlir has no function 'relo'; did you mean 'relu'?", ":relo"),
    "a function far from all": Fault(
        "".join(wrap(ADD, name=f"@f{number}") for number in range(9)), "'zz'; the nearest are f8, f7, f6", ":zz"
    ),
    "a token": Fault(
        "func.func @main(%x: !stablehlo.token) -> !stablehlo.token {\n  return %x : !stablehlo.token\n}\n",
        "a.mlir: arg0 is a !stablehlo.token, and JAX has no array of that type",
    ),
    "a circle": Fault(
        wrap("%0 = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>"), "the function 'main' calls itself"
    ),
    "no body": Fault(
        "func.func private @f(tensor<4xf32>) -> tensor<4xf32>\n"
        + wrap("%0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>"),
        "the function 'f' is called and has no body",
    ),
    "replicas": Fault(
        f"module attributes {{mhlo.num_replicas = 4 : i32}} {{\n{wrap(ADD)}}}\n", "a.mlir is for 4 replicas"
    ),
    "no result": Fault(
        "func.func @main(%x: tensor<4xf32>) {\n  return\n}\n", "a.mlir: the function 'main' has no result"
    ),
    "unknown rank": Fault(
        "func.func @main(%x: tensor<*xf32>) -> tensor<*xf32> {\n  return %x : tensor<*xf32>\n}\n",
        "arg0 is a tensor<*xf32>, and JAX has no array of that type",
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_with_its_place(write: Callable[..., str], fault: Fault) -> None:
    with pytest.raises(InspectError) as caught:
        read(write, fault.content, fault.suffix)
    assert fault.message in str(caught.value)


@pytest.mark.parametrize(("major", "message"), [("9", "reads up to"), ("0", "is damaged bytecode of StableHLO 0.")])
def test_bytecode_of_a_newer_version_and_damaged_bytecode_are_told_apart(
    write: Callable[..., str],
    exported: export.Exported,
    capfd: pytest.CaptureFixture[str],
    major: str,
    message: str,
) -> None:
    data = exported.mlir_module_serialized.replace(b"StableHLO_v1.", f"StableHLO_v{major}.".encode(), 1)
    with pytest.raises(InspectError, match=message):
        read(write, data[: len(data) // 2])
    assert not any(capfd.readouterr())


@pytest.mark.parametrize(
    ("mesh", "name"),
    [('  sdy.mesh @grid = <["data"=2, "model"=2]>\n', "@grid"), ("", 'mesh<["data"=2, "model"=2]>')],
    ids=["named", "inside the sharding"],
)
def test_a_mesh_of_shardy_keeps_its_axes(write: Callable[..., str], mesh: str, name: str) -> None:
    body = wrap(ADD, attributes=f'{{sdy.sharding = #sdy.sharding<{name}, [{{"data", "model"}}]>}}')
    program = read(write, f"module {{\n{mesh}{body}}}\n")
    assert program.axes == {"data": 2, "model": 2}
