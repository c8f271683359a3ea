"""A StableHLO program as a function that JAX can trace, with the shapes of its arguments."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private
from xla_inspect.errors import InspectError
from xla_inspect.stablehlo.parsing import read_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.stablehlo.parsing import Array, ProgramModule


def make_call(
    program: ProgramModule, sizes: Mapping[str, int], name: str
) -> tuple[Any, tuple[Any, ...], dict[str, Any], dict[str, Any]]:
    """Return a function that stands for a program, the shapes of its positional and keyword arguments, and settings.

    The settings are those of `capture` for donated arguments and for a mesh.

    Args:
        program: The program.
        sizes: The sizes of the dimensions that the program leaves open.
        name: The subject's name, for errors.

    Raises:
        InspectError: A size is missing or does not fit, or there is no such dimension.
    """
    import jax

    shapes = fill_sizes(program.arguments, sizes, name)
    fixed = _fix_shapes(program, [shape.shape for shape in shapes], name) if sizes else program

    def call(*args: Any, **kwargs: Any) -> Any:
        outputs = jax_private.call_stablehlo(fixed, *jax.tree.leaves((args, kwargs)))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    tree = program.tree or jax.tree.structure((shapes, {}))
    function: Any = call
    function.__name__ = function.__qualname__ = program.name
    function.__signature__ = _make_signature(*jax.tree.unflatten(tree, [array.name for array in program.arguments]))
    function.is_stablehlo = True
    flags, _ = jax.tree.unflatten(tree, [array.is_donated for array in program.arguments])
    donated = tuple(number for number, part in enumerate(flags) if any(jax.tree.leaves(part)))
    settings = {"donate_argnums": donated, "mesh": dict(program.axes)}
    return function, *jax.tree.unflatten(tree, shapes), {option: value for option, value in settings.items() if value}


def fill_sizes(arrays: Sequence[Array], sizes: Mapping[str, int], name: str) -> tuple[Any, ...]:
    """Return the shapes of arrays with open dimensions; raise `InspectError` without the size of each, by its name."""
    import jax

    list_symbols = jax_private.list_symbols
    open_sizes = {symbol: str(array) for array in arrays for size in array.shape for symbol in list_symbols(size)}
    if unknown := [size for size in sizes if size not in open_sizes]:
        list_text = f"it leaves open {', '.join(open_sizes)}" if open_sizes else "all of its dimensions have sizes"
        message = f"--dim {unknown[0]}: {name} has no such dimension; {list_text}"
        raise InspectError(message)
    if missing := [size for size in open_sizes if size not in sizes]:
        example = " ".join(f"--dim {size}=32" for size in missing)
        message = f"{name} leaves sizes open, as in {open_sizes[missing[0]]}; give them, for example {example}"
        raise InspectError(message)
    return tuple(
        jax.ShapeDtypeStruct(tuple(jax_private.evaluate_size(size, sizes) for size in array.shape), array.dtype)
        for array in arrays
    )


def _fix_shapes(program: ProgramModule, shapes: Sequence[tuple[int, ...]], name: str) -> ProgramModule:
    """Return a program with the shapes of its arguments, and with its other shapes derived from them."""
    with jax_private.make_context():
        module = jax_private.load_mlir().Module.parse(program.bytecode)
        try:
            refined = jax_private.refine_shapes(module, shapes)
        except Exception as error:
            reason = str(error).rpartition("UNKNOWN: ")[2].partition("\n")[0]
            message = f"{name} does not fit these sizes: {reason}"
            if reason.endswith("has dynamic shapes"):
                message = (
                    f"{name} has sizes that depend on the values of arguments: {reason}; export it with these sizes"
                )
            raise InspectError(message) from error
        results = tuple(read_array(name, kind, "") for kind in jax_private.find_main(refined).type.results)
        return replace(program, bytecode=jax_private.write_bytecode(refined), results=results)


def _make_signature(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> inspect.Signature:
    """Return a signature whose parameters have the names of the arguments, or of the Python parameters they are from.

    Args:
        args: For each positional argument the names of its parts, such as `params['w']`.
        kwargs: The same for each keyword argument.
    """
    import jax

    names: list[str] = []
    for number, part in enumerate(args):
        first = min(jax.tree.leaves(part), default="")
        stem = re.sub(r"\W+", "_", first).strip("_") if isinstance(part, str) else re.split(r"\W", first)[0]
        names.append(stem if stem.isidentifier() and stem not in names else f"arg{number}")
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, kind) for listed, kind in zip((names, kwargs), kinds, strict=True) for name in listed]
    )
