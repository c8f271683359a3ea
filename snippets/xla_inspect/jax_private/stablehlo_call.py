"""A JAX primitive that stands for a StableHLO module, so that JAX traces and lowers the module like a function."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from xla_inspect.jax_private.programs import load_mlir, replace_module

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAME = "call_stablehlo"
_ASKED = ("sdy.sharding", "mhlo.layout_mode", "mhlo.memory_kind")
"""The attributes of an argument or result that replace those in the module, because an option asks for them."""
_GSPMD = "mhlo.sharding"
_DONATED = ("tf.aliasing_output", "jax.buffer_donor")


def make_context() -> Any:
    """Return a new MLIR context with all dialects that JAX and XLA use."""
    from jax._src.interpreters import mlir

    return mlir.make_ir_context()


def write_bytecode(module: Any) -> bytes:
    """Return an MLIR module as bytecode."""
    from jax._src.interpreters import mlir

    return mlir.module_to_bytecode(module)


def load_stablehlo() -> Any:
    """Import and return jaxlib's module of the dialect StableHLO."""
    from jaxlib.mlir.dialects import stablehlo

    return stablehlo


def run_pass(module: Any, name: str) -> None:
    """Run a pass of MLIR on a module."""
    from jaxlib.mlir.passmanager import PassManager

    PassManager.parse(f"builtin.module({name})").run(module.operation)


@cache
def list_element_types() -> dict[str, Any]:
    """Return the dtypes of arrays by the name of their element type in MLIR, such as float32 for `f32`."""
    import jax.numpy as jnp
    from jax._src import dtypes
    from jax._src.interpreters import mlir

    dtypes_by_name: dict[str, Any] = {}
    with make_context():
        for dtype in map(jnp.dtype, dtypes._jax_dtype_set):  # noqa: SLF001 - there is no public list
            # Some dtypes, such as that of strings, exist on the host alone.
            with suppress(TypeError):
                dtypes_by_name[str(mlir.dtype_to_ir_type(dtype))] = dtype
    # `float0` is lowered as i1, which is bool's.
    return {**dtypes_by_name, "i1": jnp.dtype(bool)}


def refine_shapes(module: Any, shapes: Sequence[Sequence[int]]) -> Any:
    """Return a module whose `main` has last arguments of the given shapes, with other shapes derived from them.

    Raises:
        ValueError: The shapes do not fit the program.
    """
    from jaxlib import _jax

    ir, main = load_mlir(), find_main(module)
    arguments = [*main.arguments]
    with ir.Location.unknown(), ir.InsertionPoint.at_block_begin(main.entry_block):
        for argument, shape in zip(arguments[len(arguments) - len(shapes) :], shapes, strict=True):
            open_type, fixed = argument.type, ir.RankedTensorType.get([*shape], argument.type.element_type)
            if fixed != open_type:
                argument.set_type(fixed)
                # The operations keep the open type until the pass derives their types.
                converted = load_stablehlo().convert(open_type, argument)
                argument.replace_all_uses_except(converted, converted.owner.operation)
    update_type(main)
    return ir.Module.parse(_jax.mlir.refine_polymorphic_shapes(write_bytecode(module)))


def find_main(module: Any) -> Any:
    """Return the function `main` of a module."""
    return load_mlir().SymbolTable(module.operation)["main"]


def update_type(function: Any) -> None:
    """Give a function the type that its arguments and results have after a change."""
    ir = load_mlir()
    kind = ir.FunctionType.get([argument.type for argument in function.arguments], function.type.results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def evaluate_size(size: Any, sizes: Mapping[str, int]) -> int:
    """Return the size of a dimension, which may be a name or a symbolic size of `jax.export`, given those of names."""
    if isinstance(size, str):
        return sizes[size]
    return size if isinstance(size, int) else int(size._evaluate(dict(sizes)))  # noqa: SLF001


def list_symbols(size: Any) -> list[str]:
    """Return the names that the size of a dimension depends on."""
    if isinstance(size, str):
        return [size]
    return [] if isinstance(size, int) else sorted(size._get_vars())  # noqa: SLF001


def call_stablehlo(program: Any, *args: Any) -> Sequence[Any]:
    """Call a program in a traced function, and return its results.

    Args:
        program: An object with the attributes of `ProgramModule`.
        *args: Its arguments.
    """
    results: Sequence[Any] = _make_primitive().bind(*args, program=program)
    return results


@cache
def _make_primitive() -> Any:
    from jax._src import core
    from jax._src.interpreters import mlir

    primitive = core.Primitive(_NAME)
    primitive.multiple_results = True
    primitive.def_abstract_eval(
        lambda *_, program: [core.ShapedArray(result.shape, result.dtype) for result in program.results]
    )

    def lower(context: Any, *args: Any, program: Any) -> Any:
        del program
        kinds = [mlir.aval_to_ir_type(context.module_context, aval) for aval in context.avals_out]
        return mlir.custom_call(_NAME, result_types=kinds, operands=args).results

    mlir.register_lowering(primitive, lower)
    return primitive


def put_module(lowered: Any, traced: Any, platform: str) -> Any:
    """Return a lowered program, with the module in the place of its own program if it only calls one.

    The module gets the donations, shardings and layouts of the arguments and results.

    Args:
        lowered: JAX's `Lowered`.
        traced: JAX's `Traced`, from which it was lowered.
        platform: The platform that it is lowered for.
    """
    import jax

    if [equation.primitive.name for equation in traced.jaxpr.eqns] != [_NAME]:
        return lowered
    ir, program, plain = load_mlir(), traced.jaxpr.eqns[0].params["program"], lowered.compiler_ir("stablehlo")
    with plain.context, ir.Location.unknown():
        whole = ir.Module.parse(program.bytecode)
        main, model = find_main(whole), find_main(plain)
        if len(program.platforms) > 1:
            _fix_platform(main, program.platforms.index(platform) if platform in program.platforms else 0)
        # Each module has a mesh of its own name, so the shardings contain the mesh before they are joined.
        run_pass(whole, "sdy-inline-meshes")
        run_pass(plain, "sdy-inline-meshes")
        donated = [argument.donated for argument in jax.tree.leaves(lowered.args_info)]
        own = [any(name in attributes for name in _DONATED) for attributes in main.arg_attrs]
        replaced = _ASKED if donated == own else (*_ASKED, *_DONATED)
        # XLA ends at annotations of GSPMD on arguments unless all results have some, which it then replaces.
        is_gspmd = any(_GSPMD in attributes for attributes in main.arg_attrs)
        default = {_GSPMD: ir.StringAttr.get("{replicated}")} if is_gspmd else {}
        _join_attributes(main, model, "arg_attrs", replaced, {})
        _join_attributes(main, model, "res_attrs", replaced, default)
        run_pass(whole, "sdy-lift-inlined-meshes")
        for name in ("mhlo.num_partitions", "mhlo.num_replicas", "sym_name"):
            whole.operation.attributes[name] = plain.operation.attributes[name]
        return replace_module(lowered, whole)


def _fix_platform(main: Any, number: int) -> None:
    """Replace the first argument of a function for several platforms by the number of one."""
    ir, first = load_mlir(), main.arguments[0]
    with ir.InsertionPoint.at_block_begin(main.entry_block):
        value = ir.DenseElementsAttr.get_splat(first.type, ir.IntegerAttr.get(first.type.element_type, number))
        first.replace_all_uses_with(load_stablehlo().constant(value))
    main.arg_attrs = [*main.arg_attrs][1:]
    main.entry_block.erase_argument(0)
    update_type(main)


def _join_attributes(main: Any, model: Any, kind: str, replaced: Sequence[str], default: Mapping[str, Any]) -> None:
    """Give the arguments or results of a function the attributes that those of another one have for options."""
    ir = load_mlir()
    # A function has no list of attributes if all are empty.
    lists = [function.attributes.get(kind, ()) for function in (main, model)]
    joined = []
    for own, other in zip_longest(*lists, fillvalue=()):
        remaining = {part.name: part.attr for part in own if part.name not in replaced or part.name in _ASKED}
        options = {part.name: part.attr for part in other if part.name in replaced}
        joined.append(ir.DictAttr.get({**default, **remaining, **options}))
    if joined:
        main.attributes[kind] = ir.ArrayAttr.get(joined)
