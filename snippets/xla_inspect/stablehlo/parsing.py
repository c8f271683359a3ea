"""A StableHLO program read from a file: its module, its functions, and the arguments and results of one of them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private
from xla_inspect.analysis import count_spread, list_prime_factors
from xla_inspect.errors import InspectError
from xla_inspect.spelling import list_nearest, suggest_name
from xla_inspect.stablehlo import module_changes
from xla_inspect.targets import find_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from xla_inspect.stablehlo.module_file import StablehloFile

_VERSION = re.compile(rb"^ML\xefR.StableHLO_v(\d+(?:\.\d+)*)", re.DOTALL)
_ELIDED = re.compile(r'dense<"?__elided__"?>|dense_resource<__elided__>')
_PLACE = re.compile(rf'"{module_changes.UNNAMED}"(:(\d+):\d+)')
_AXIS = re.compile(r'"([^"]+)"=(\d+)')


@dataclass(frozen=True)
class Array:
    """An argument or a result of a function.

    Attributes:
        name: The argument's name, or an empty string.
        shape: The size of each dimension; text or a symbolic size of `jax.export` for one that is not known yet.
        dtype: The element type, as NumPy has it.
        is_donated: Whether the function may overwrite it.
    """

    name: str
    shape: tuple[Any, ...]
    dtype: Any
    is_donated: bool = False

    def __str__(self) -> str:
        """Return the array as `name: dtype[shape]`."""
        text = f"{self.dtype}[{','.join(map(str, self.shape))}]"
        return f"{self.name}: {text}" if self.name else text


@dataclass(frozen=True, eq=False)
class ProgramModule:
    """A module with one chosen function, which a jaxpr shows as its name.

    Attributes:
        name: The function's name, or the module's or the file's if the function is `main`.
        arguments: The function's arguments.
        results: The function's results.
        axes: The axes of the mesh that it is partitioned over, with their sizes.
        bytecode: The module, in which the chosen function is called `main`.
        platforms: The platforms that `jax.export` exported it for; empty for other files.
        elided: The names of the arguments that stand for constants whose values the text omits.
        tree: The structure of the arguments and keyword arguments in a file of `jax.export`, if it uses all of them.
    """

    name: str
    arguments: tuple[Array, ...]
    results: tuple[Array, ...]
    axes: Mapping[str, int]
    bytecode: bytes
    platforms: tuple[str, ...] = ()
    elided: tuple[str, ...] = ()
    tree: Any = None

    def __repr__(self) -> str:
        """Return the name."""
        return self.name

    def describe(self) -> tuple[str, str, str]:
        """Return the arguments, the results and the mesh axes as text."""
        axes = ", ".join(f"{axis}={size}" for axis, size in self.axes.items())
        return ", ".join(map(str, self.arguments)) or "none", ", ".join(map(str, self.results)), axes


def read_module(file: StablehloFile) -> ProgramModule:
    """Return the program in a file: its named function, else `main`, else the only one that no other calls.

    Raises:
        InspectError: The file cannot be parsed, or has no such function, or one that JAX cannot call.
    """
    exported = _read_export(file) if file.is_export else None
    with jax_private.make_context():
        module = _parse(file, exported.mlir_module_serialized if exported else file.data)
        functions = _list_functions(module)
        name = _choose(file, functions, _list_entries(functions))
        _check_calls(file, functions, name)
        main = module_changes.isolate(module, functions, name)
        _check_operations(file, module)
        elided = module_changes.replace_elided(file.name, module, main) if _ELIDED.search(file.text) else ()
        platforms = tuple(exported.platforms) if exported else ()
        arguments = tuple(_list_arguments(file, main))[len(platforms) > 1 :]
        results = tuple(read_array(file.name, kind, "") for kind in main.type.results)
        if not results:
            message = f"{file.name}: the function {name!r} has no result, so JAX leaves it out; return a value from it"
            raise InspectError(message)
        if exported:
            arguments = _name_sizes(arguments, [exported.in_avals[number] for number in exported.module_kept_var_idx])
            results = _name_sizes(results, exported.out_avals)
        title = exported.fun_name if exported else _find_title(module, name, file)
        axes = _read_axes(file, module)
        module_changes.name_frames(module, file.source_name if file.text else "")
        bytecode = jax_private.write_bytecode(module)
    tree = exported.in_tree if exported and len(arguments) == exported.in_tree.num_leaves else None
    title = re.sub(r"\W", "_", title.rstrip("."))  # Reactant ends a long name in dots
    return ProgramModule(title, arguments, results, axes, bytecode, platforms, elided, tree)


def list_functions(file: StablehloFile) -> list[str]:
    """Return the names of a file's functions that a question can compile; "" for the named one, or without any."""
    if file.is_export or file.function:
        return [file.function]
    with jax_private.make_context(), suppress(InspectError):
        module = _parse(file, file.data)
        return _list_entries(_list_functions(module)) or [""]
    return [""]


def _read_export(file: StablehloFile) -> Any:
    import jax
    from jax import export

    try:
        exported = export.deserialize(bytearray(file.data))
    except ImportError as error:
        message = f"a file of jax.export, such as {file.name}, needs flatbuffers; run: pip install flatbuffers"
        raise InspectError(message) from error
    except Exception as error:
        size = f"{len(file.data):,} bytes"
        message = f"JAX {jax.__version__} cannot read {file.name}; it is cut off ({size}), damaged or newer: {error}"
        raise InspectError(message) from error
    if exported.ordered_effects:
        message = (
            f"{file.name} has ordered effects, such as prints, which JAX cannot run from a file; export it without them"
        )
        raise InspectError(message)
    return exported


def _list_functions(module: Any) -> dict[str, Any]:
    """Return the functions of a module by name."""
    return {part.name.value: part for part in module.body.operations if part.operation.name == "func.func"}


def _list_entries(functions: Mapping[str, Any]) -> list[str]:
    """Return the names of the public functions that no other calls; if all are called, of all public ones."""
    called = {name for part in functions.values() for name in _list_called(part)}
    public = [
        name
        for name, part in functions.items()
        if not part.is_external and str(part.attributes.get("sym_visibility", '"public"')) == '"public"'
    ]
    return [name for name in public if name not in called] or public


def _parse(file: StablehloFile, data: bytes) -> Any:
    """Return the module in a file's data; the current context owns it."""
    version = _VERSION.match(data)
    ir, stablehlo = jax_private.load_mlir(), jax_private.load_stablehlo()
    context = ir.Context.current
    # The function that is asked about may have no operation of an unknown dialect.
    context.allow_unregistered_dialects = True
    try:
        if b"quant" in data:
            # The first artifact that is read registers the dialect of quantized types.
            empty = stablehlo.serialize_portable_artifact_str("module {}", stablehlo.get_current_version())
            stablehlo.deserialize_portable_artifact(context, empty)
        if version:
            # Without a handler MLIR prints what is wrong.
            with context.attach_diagnostic_handler(lambda _: True):
                return stablehlo.deserialize_portable_artifact(context, data)
        module = ir.Module.parse(_ELIDED.sub("dense_resource<__elided__>", file.text) or data)
        # Until the middle of 2023, artifacts did not begin with their version.
        is_artifact = any(part.operation.name.startswith("vhlo.func") for part in module.body.operations)
        artifact = jax_private.write_bytecode(module) if is_artifact else b""
        return stablehlo.deserialize_portable_artifact(context, artifact) if artifact else module
    except Exception as error:
        raise _explain(file, error, version[1].decode() if version else "") from error


def _explain(file: StablehloFile, error: Exception, version: str) -> InspectError:
    """Return an error that says what is wrong with a file, and where."""
    if version:
        supported = str(jax_private.load_stablehlo().get_current_version())
        if [*map(int, version.split("."))] > [*map(int, supported.split("."))]:
            return InspectError(
                f"{file.name} is StableHLO {version}, and jaxlib {find_version('jaxlib')} reads up to {supported}; "
                "update jaxlib, or export the program for an older version"
            )
        return InspectError(f"{file.name} is damaged bytecode of StableHLO {version}, which cannot be read")
    fault = next(iter(getattr(error, "error_diagnostics", ())), None)
    if not fault:
        return InspectError(f"{file.name} is no module that MLIR can parse: {str(error).strip().partition(chr(10))[0]}")
    place = _PLACE.search(str(fault.location))
    text = fault.message.strip().partition(". If this is intended")[0]
    text = text.replace("op created with unregistered dialect", "is of a dialect that XLA does not compile")
    if "dialect" in text.lower():
        text += "; convert the program to StableHLO, which is the dialect that XLA compiles"
    elif place and int(place[2]) > file.text.rstrip().count("\n") and file.text.count("{") > file.text.count("}"):
        text += ", where the text is cut off"
    return InspectError(f"{file.name}{place[1] if place else ''}: {text}")


def _check_operations(file: StablehloFile, module: Any) -> None:
    """Check that XLA knows the operations of a module, and replace those that only its compiler for the CPU knows."""
    jax_private.load_mlir().Context.current.allow_unregistered_dialects = False
    module_changes.remove_unknown_attributes(module)
    try:
        module.operation.verify()
    except Exception as error:
        raise _explain(file, error, "") from error
    if any(module_changes.list_inside(module, f"stablehlo.uniform_{name}") for name in ("quantize", "dequantize")):
        message = f"{file.name} computes with quantized types, which XLA does not compile; export it without them"
        raise InspectError(message)
    for copy in module_changes.list_inside(module, "mhlo.copy"):
        copy.results[0].replace_all_uses_with(copy.operands[0])
        copy.erase()


def _find_title(module: Any, function: str, file: StablehloFile) -> str:
    """Return the name of a program for answers: what distinguishes it from others, which `main` does not."""
    attributes = module.operation.attributes
    module_name = attributes["sym_name"].value if "sym_name" in attributes else ""
    return function if function != "main" else module_name.removeprefix("jit_") or Path(file.name).stem


def _list_called(function: Any) -> dict[str, None]:
    """Return the names of the functions that a function calls."""
    return dict.fromkeys(call.attributes["callee"].value for call in module_changes.list_inside(function, "func.call"))


def _check_calls(file: StablehloFile, functions: Mapping[str, Any], name: str, path: tuple[str, ...] = ()) -> None:
    """Check that the functions that one calls exist and do not call each other in a circle, which ends the compiler."""
    is_absent = name not in functions or functions[name].is_external
    if is_absent or name in path:
        why = "is called and has no body" if is_absent else "calls itself, which XLA cannot compile"
        message = f"{file.name}: the function {name!r} {why}"
        raise InspectError(message)
    for called in _list_called(functions[name]):
        _check_calls(file, functions, called, (*path, name))


def _choose(file: StablehloFile, functions: Mapping[str, Any], public: list[str]) -> str:
    """Return the name of the function to compile: the named one, else `main`, else the only public one."""
    name = file.function or ("main" if "main" in public else public[0] if len(public) == 1 else "")
    if name in functions:
        return name
    message = f"{file.name} has no public function with a body"
    if name:
        near = list_nearest(name, functions, 3, 0)
        message = f"{file.name} has no function {name!r}; {suggest_name(name, near, 'the nearest are')}"
    elif public:
        listed = ", ".join(public[:3])
        message = f"{file.name} has {len(public)} functions, such as {listed}; name one, as in {file.name}:{public[0]}"
    raise InspectError(message)


def _list_arguments(file: StablehloFile, function: Any) -> Iterator[Array]:
    """Yield the arguments of a function, each with its name and whether it is donated; name those without a name."""
    locate = jax_private.load_mlir().Location.name
    for number, (argument, attributes) in enumerate(zip(function.arguments, function.arg_attrs, strict=True)):
        # The names that JAX gives are those of Python's parameters, with the path to a part, such as `p['w']`.
        name = getattr(argument.location, "name_str", "") or f"arg{number}"
        argument.set_location(locate(name))
        is_donated = "tf.aliasing_output" in attributes or "jax.buffer_donor" in attributes
        yield replace(read_array(file.name, argument.type, name), is_donated=is_donated)


def read_array(file_name: str, kind: Any, name: str) -> Array:
    """Return an argument or result of a type of MLIR.

    Raises:
        InspectError: The type is not that of an array that JAX has.
    """
    element, dtypes = str(getattr(kind, "element_type", "")), jax_private.list_element_types()
    if not getattr(kind, "has_rank", False) or element not in dtypes:
        message = f"{file_name}: {name or 'a result'} is a {kind}, and JAX has no array of that type"
        raise InspectError(message)
    shape = (f"{name}.{at}" if kind.is_dynamic_dim(at) else kind.get_dim_size(at) for at in range(kind.rank))
    return Array(name, tuple(shape), dtypes[element])


def _name_sizes(arrays: Iterable[Array], avals: Iterable[Any]) -> tuple[Array, ...]:
    """Return arrays of an exported program with their symbolic sizes. Random keys have another rank and remain."""
    return tuple(
        replace(array, shape=aval.shape) if len(array.shape) == len(aval.shape) else array
        for array, aval in zip(arrays, avals, strict=True)
    )


def _read_axes(file: StablehloFile, module: Any) -> dict[str, int]:
    """Return the axes of the mesh that a module is partitioned over, with their sizes; none if it is for one device.

    Annotations of GSPMD name no axes, so the devices form a mesh with one axis for each prime factor of their number.
    """
    jax_private.run_pass(module, "sdy-lift-inlined-meshes")
    meshes = [str(part.attributes["mesh"]) for part in module.body.operations if part.operation.name == "sdy.mesh"]
    if axes := {name: int(size) for mesh in meshes[:1] for name, size in _AXIS.findall(mesh)}:
        return axes
    attributes = module.operation.attributes
    counts = ("mhlo.num_replicas", "mhlo.num_partitions")
    replicas, partitions = (attributes[name].value if name in attributes else 1 for name in counts)
    if partitions == 1:
        # Exports of 2023 do not give the number, but only the annotations.
        partitions = count_spread(module.operation.get_asm(large_elements_limit=16))
    if replicas > 1:
        message = (
            f"{file.name} is for {replicas} replicas, which JAX cannot compile; export it for a mesh of devices instead"
        )
        raise InspectError(message)
    return {f"axis{number}": factor for number, factor in enumerate(reversed(list_prime_factors(partitions)))}
