"""Changes to a parsed module: its entry, its constants without values, and its source locations for XLA's frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Mapping

UNNAMED = "-"
"""The file name that MLIR's parser uses for a text."""


def list_inside(function: Any, name: str) -> list[Any]:
    """Return the operations of a kind inside a function."""
    ir, listed = jax_private.load_mlir(), []

    def keep(operation: Any) -> Any:
        listed.extend([operation] if operation.name == name else [])
        return ir.WalkResult.ADVANCE

    function.operation.walk(keep)
    return listed


def remove_unknown_attributes(module: Any) -> None:
    """Remove the attributes of unknown dialects, such as those of Reactant's analyses, which XLA cannot read."""
    ir = jax_private.load_mlir()

    def clean(attribute: Any) -> Any:
        if isinstance(attribute, ir.DictAttr):
            return ir.DictAttr.get({part.name: part.attr for part in attribute if not is_unknown(part.attr)})
        return ir.ArrayAttr.get([*map(clean, attribute)])

    def is_unknown(attribute: Any) -> bool:
        is_list = isinstance(attribute, ir.ArrayAttr)
        return any(map(is_unknown, attribute)) if is_list else isinstance(attribute, ir.OpaqueAttr)

    def keep_known(operation: Any) -> Any:
        for name in [*operation.attributes]:
            if name in {"arg_attrs", "res_attrs"}:
                operation.attributes[name] = clean(operation.attributes[name])
            # The own attributes of an operation have names without a dialect.
            elif "." in name and is_unknown(operation.attributes[name]):
                del operation.attributes[name]
        return ir.WalkResult.ADVANCE

    module.operation.walk(keep_known)


def isolate(module: Any, functions: Mapping[str, Any], name: str) -> Any:
    """Rename the chosen function to `main`, remove the functions that it does not need, and return it."""
    ir, chosen = jax_private.load_mlir(), functions[name]
    for function in functions.values():
        function.attributes["sym_visibility"] = ir.StringAttr.get("public" if function == chosen else "private")
    jax_private.run_pass(module, "symbol-dce")
    symbols = ir.SymbolTable(module.operation)
    for old, new in (("main", f"other_than_{name}"), (name, "main")):
        if name != "main" and old in symbols:
            symbols.replace_all_symbol_uses(old, new, module.operation)
            symbols.set_symbol_name(symbols[old], new)
    return chosen


def replace_elided(name: str, module: Any, main: Any) -> tuple[str, ...]:
    """Replace each constant of `main` without a value by an argument, and return the names of these arguments."""
    ir = jax_private.load_mlir()
    attributes, names = [*main.arg_attrs], list[str]()
    for constant in list_inside(main, "stablehlo.constant"):
        if "__elided__" in str(constant.attributes["value"]):
            names.append(f"elided{len(names)}")
            argument = main.entry_block.add_argument(constant.results[0].type, ir.Location.name(names[-1]))
            constant.results[0].replace_all_uses_with(argument)
            constant.erase()
    main.arg_attrs = attributes + [ir.DictAttr.get({})] * len(names)
    jax_private.update_type(main)
    if "__elided__" in str(module):
        message = f"{name} omits the values of constants in functions that the program calls; write it with them"
        raise InspectError(message)
    return tuple(names)


def name_frames(module: Any, file: str) -> None:
    """Give each operation of a module a location with an operation's name and frames with a function's name.

    JAX writes locations in this form, and XLA makes stack frames of no other. The locations that a framework wrote
    remain; an operation without one gets its line in the module's text.

    Args:
        module: The module.
        file: The path of the module's text, or an empty string if it is bytecode.
    """
    ir = jax_private.load_mlir()
    for function in module.body.operations:
        name = function.attributes["sym_name"].value if "sym_name" in function.attributes else "module"

        def rename(operation: Any, name: str = name) -> Any:
            path, frame = _split(ir, operation.location, name, file)
            # The name of a call is a scope of all operations that it calls.
            own = "" if operation.name == "func.call" else operation.name.rpartition(".")[2]
            operation.location = ir.Location.name(path or own, frame)
            return ir.WalkResult.ADVANCE

        function.operation.walk(rename)


def _split(ir: Any, location: Any, function: str, file: str) -> tuple[str, Any]:
    """Return the name of an operation that a location begins with, or an empty string, and the location of its frames.

    Each place in a file carries the name of a function there.
    """
    if isinstance(location, ir.FusedLoc):
        parts = [_split(ir, part, function, file) for part in location.locations]
        frames = [frame for _, frame in parts if not isinstance(frame, ir.UnknownLoc)]
        return next((path for path, _ in parts if path), ""), frames[0] if frames else location
    if isinstance(location, ir.CallSiteLoc):
        callee, caller = (_split(ir, part, function, file)[1] for part in (location.callee, location.caller))
        return "", ir.Location.callsite(callee, [caller])
    if isinstance(location, ir.FileLineColLoc):
        if location.filename == UNNAMED:
            location = ir.Location.file(file, location.start_line, location.start_col)
        return "", ir.Location.name(function, location)
    if isinstance(location, ir.NameLoc) and not isinstance(location.child_loc, ir.FileLineColLoc):
        return location.name_str, _split(ir, location.child_loc, function, file)[1]
    return "", location
