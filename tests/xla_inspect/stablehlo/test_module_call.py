"""A program as StableHLO gives the answers that its Python function gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest
from jax import export
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from programs import layer, train_step
from xla_inspect import Capture, InspectError, capture
from xla_inspect.analysis import SourceLine, find_lines
from xla_inspect.subject import Request, read_stablehlo

from .conftest import LAYER

if TYPE_CHECKING:
    from collections.abc import Callable

PARTS = jax.ShapeDtypeStruct((8, 16), jnp.float32)


def compile_file(name: str, target: str = "cpu", **options: object) -> Capture:
    subject = read_stablehlo(Request((name,), **options))  # type: ignore[arg-type]
    assert subject
    return subject.capture(target)


def list_instructions(result: Capture) -> list[str]:
    """Return the optimized module's instructions without names and metadata, which tell where each is from."""
    lines = re.findall(r"^ *(?:ROOT )?%\S+ = (\S+ [\w-]+)\(", result.after, re.MULTILINE)
    return sorted(lines)


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
@pytest.mark.parametrize("form", ["export", "portable", "text"])
def test_a_layer_compiles_to_what_its_function_compiles_to(write: Callable[..., str], target: str, form: str) -> None:
    function = jax.jit(layer.layer)
    exported = export.export(function)(*layer.EXAMPLE)
    content = {
        "export": bytes(exported.serialize()),
        "portable": exported.mlir_module_serialized,
        "text": function.lower(*layer.EXAMPLE).as_text(),
    }
    of_file = compile_file(write("a.mlir", content[form]), target)
    of_function = capture(layer.layer, *layer.EXAMPLE, target=target, passes=False)
    assert list_instructions(of_file) == list_instructions(of_function)
    assert of_file.memory == of_function.memory


def test_a_training_step_keeps_its_donated_arguments_and_their_names(write: Callable[..., str]) -> None:
    function = jax.jit(train_step.train_step, donate_argnums=0)
    name = write("step.jaxexport", bytes(export.export(function)(*train_step.EXAMPLE).serialize()))
    of_function = capture(train_step.train_step, *train_step.EXAMPLE, donate_argnums=0, passes=False)
    of_file = compile_file(name)
    assert of_file.memory == of_function.memory
    name_pattern = re.compile(r'parameter\(\d+\).*?op_name="([^"]+)"')
    assert set(name_pattern.findall(of_file.after)) == set(name_pattern.findall(of_function.after))


def test_a_sharded_program_is_compiled_for_as_many_devices(write: Callable[..., str]) -> None:
    mesh = jax.sharding.AbstractMesh((2, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    shardings = [NamedSharding(mesh, P("data", None)), NamedSharding(mesh, P(None, "model"))]
    x, w = (jax.ShapeDtypeStruct((8, 8), jnp.float32, sharding=sharding) for sharding in shardings)
    with jax.sharding.use_abstract_mesh(mesh):
        exported = export.export(jax.jit(lambda x, w: jnp.sum(x @ w)))(x, w)
    result = compile_file(write("a.jaxexport", bytes(exported.serialize())))
    assert (result.target, "num_partitions=4" in result.after) == ("cpu:4", True)
    assert "all-reduce" in result.after


@pytest.mark.parametrize(
    ("devices", "annotation", "shard"),
    [
        (8, "{devices=[4,1,2]<=[8] last_tile_dim_replicate}", "f32[3,12]"),
        (8, "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}", "f32[12,6]"),
        (6, "{devices=[3,2]<=[6]}", "f32[4,6]"),
        (4, "{replicated}", "f32[12,12]"),
    ],
)
def test_annotations_of_gspmd_shard_a_program_over_a_mesh_of_prime_factors(
    write: Callable[..., str], devices: int, annotation: str, shard: str
) -> None:
    kind = "tensor<12x12xf32>"
    text = (
        f"module attributes {{mhlo.num_partitions = {devices} : i32}} {{\n"
        f'  func.func @main(%x: {kind} {{mhlo.sharding = "{annotation}"}}) -> {kind} {{\n'
        f"    %0 = stablehlo.tanh %x : {kind}\n    return %0 : {kind}\n  }}\n}}\n"
    )
    result = compile_file(write("a.mlir", text))
    assert (result.target, result.module.entry.parameters[0].shape.plain) == (f"cpu:{devices}", shard)


def test_a_program_for_several_platforms_is_compiled_for_that_of_the_target(
    write: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    function = jax.jit(lambda x: jax.lax.platform_dependent(x, cpu=jnp.sin, cuda=jnp.tanh))
    exported = export.export(function, platforms=("cuda", "cpu"))(PARTS)
    assert " sine(" in compile_file(write("a.jaxexport", bytes(exported.serialize()))).before
    compile_file(write("a.mlir", str(exported.mlir_module())))
    assert "a.mlir has the branches of several platforms" in capsys.readouterr().err


def test_options_shard_and_donate_a_program(write: Callable[..., str]) -> None:
    kind = "tensor<8x8xf32>"
    write(
        "a.mlir",
        f"func.func @f(%x: {kind}) -> {kind} {{\n  %0 = stablehlo.tanh %x : {kind}\n  return %0 : {kind}\n}}\n",
    )
    options = {"in_spec": ("arg0=P('data')",), "out_spec": ("P('data')",), "donate": ("arg0",)}
    result = compile_file("a.mlir", mesh={"data": 4}, **options)
    assert result.stablehlo.count('sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>') == 2
    assert result.module.entry.root.shape.plain == "f32[2,8]"
    assert result.memory.aliased == 64


def test_open_sizes_are_asked_for_by_name(write: Callable[..., str]) -> None:
    batch, heads = export.symbolic_shape("batch, heads")
    shape = jax.ShapeDtypeStruct((batch, 2 * heads), jnp.float32)
    name = write("a.jaxexport", bytes(export.export(jax.jit(jnp.tanh))(shape).serialize()))
    with pytest.raises(
        InspectError, match=r"leaves sizes open, .*; give them, for example --dim batch=32 --dim heads=32"
    ):
        compile_file(name)
    with pytest.raises(
        InspectError, match=r"--dim hats: a\.jaxexport has no such dimension; it leaves open batch, heads"
    ):
        compile_file(name, dims={"hats": 2})
    add = "%0 = stablehlo.add %x, %y : tensor<?xf32>"
    head = "func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32>"
    text = f"{head} {{\n{add}\nreturn %0 : tensor<?xf32>\n}}"
    with pytest.raises(InspectError, match=r"b\.mlir does not fit these sizes: b\.mlir:2:\d+: error: "):
        compile_file(write("b.mlir", text), dims={"arg0.0": 2, "arg1.0": 3})
    assert "f32[3,10]" in compile_file(name, dims={"batch": 3, "heads": 5}).after


def test_an_open_size_of_a_text_has_the_number_of_its_argument_and_dimension(write: Callable[..., str]) -> None:
    kind = "tensor<?x4xf32>"
    name = write(
        "a.mlir",
        f"func.func @f(%x: {kind}) -> {kind} {{\n  %0 = stablehlo.tanh %x : {kind}\n  return %0 : {kind}\n}}\n",
    )
    with pytest.raises(InspectError, match=r"--dim arg0\.0=32"):
        compile_file(name)
    assert "f32[7,4]" in compile_file(name, dims={"arg0.0": 7}).after


def test_a_size_that_a_value_gives_is_not_blamed_on_the_sizes_of_arguments(write: Callable[..., str]) -> None:
    body = (
        "%0 = stablehlo.dynamic_iota %size, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n    return %0 : tensor<?xf32>"
    )
    text = f"func.func @main(%size: tensor<1xi32>, %x: tensor<?xf32>) -> tensor<?xf32> {{\n    {body}\n}}\n"
    with pytest.raises(InspectError, match=r"a\.mlir has sizes that depend on the values of arguments: a\.mlir:2:"):
        compile_file(write("a.mlir", text), dims={"arg1.0": 8})


def test_lines_are_those_of_the_text_or_of_the_framework(write: Callable[..., str]) -> None:
    of_text = compile_file(write("a.mlir", LAYER))
    assert {(frame.file, frame.function, frame.line) for chain in of_text.frames.values() for frame in chain} >= {
        ("a.mlir", "main", 3),
        ("a.mlir", "relu", 10),
    }
    assert 'op_name="call' not in of_text.after
    # The file of another machine has lines without a text.
    located = LAYER.replace(
        ": tensor<64x256xf32>\n    return %0",
        ': tensor<64x256xf32> loc(fused["relu", "net.jl":5:1, "lib.jl":9:1])\n    return %0',
    )
    result = compile_file(write("b.mlir", located))
    assert SourceLine("net.jl", 5, "") in find_lines(result, result.module).values()


def test_types_of_64_bits_are_compiled_although_jax_has_them_switched_off(write: Callable[..., str]) -> None:
    kind = "tensor<8xf64>"
    text = f"func.func @f(%x: {kind}) -> {kind} {{\n  %0 = stablehlo.tanh %x : {kind}\n  return %0 : {kind}\n}}\n"
    result = compile_file(write("a.mlir", text))
    assert (result.jaxpr.count("f64[8]"), "f64[8]" in result.after) == (2, True)
    assert "input_output_alias" in compile_file("a.mlir", donate=("0",)).after


def test_a_donation_of_the_program_remains_if_another_is_added(write: Callable[..., str]) -> None:
    kind = "tensor<8xf32>"
    text = (
        f"func.func @f(%x: {kind} {{tf.aliasing_output = 0 : i32}}, %y: {kind}) -> ({kind}, {kind}) {{\n"
        f"  %0 = stablehlo.tanh %x : {kind}\n  %1 = stablehlo.sine %y : {kind}\n  return %0, %1 : {kind}, {kind}\n}}\n"
    )
    write("a.mlir", text)
    modules = [compile_file("a.mlir", donate=donate).after for donate in [(), ("arg1",)]]
    assert [module.count("may-alias") + module.count("must-alias") for module in modules] == [1, 2]


def test_another_mesh_than_that_of_the_program_is_refused(write: Callable[..., str]) -> None:
    text = LAYER.replace("@jit_dense {", '@jit_dense {\n  sdy.mesh @mesh = <["data"=4]>')
    assert compile_file(write("a.mlir", text)).target == "cpu:4"
    with pytest.raises(InspectError, match="is partitioned over the mesh data=4; leave out --mesh"):
        compile_file("a.mlir", mesh={"data": 8})


def test_a_donated_argument_is_named_or_numbered(write: Callable[..., str]) -> None:
    kind = "tensor<8xf32>"
    text = f"func.func @f(%x: {kind}) -> {kind} {{\n  %0 = stablehlo.tanh %x : {kind}\n  return %0 : {kind}\n}}\n"
    write("a.mlir", text)
    modules = [compile_file("a.mlir", donate=donate).after for donate in [(), ("0",), ("arg0",)]]
    assert ["input_output_alias" in module for module in modules] == [False, True, True]
    with pytest.raises(InspectError, match=r"f: Jitted function has invalid argnames {'w'} in donate_argnames"):
        compile_file("a.mlir", donate=("w",))


@pytest.mark.parametrize("option", [{"grad": True}, {"vmap": 8}, {"static": ("0",)}, {"args": "f32[2]"}])
def test_an_option_that_needs_the_python_function_is_refused(
    write: Callable[..., str], option: dict[str, object]
) -> None:
    with pytest.raises(InspectError, match="needs the Python function"):
        compile_file(write("a.mlir", LAYER), **option)
