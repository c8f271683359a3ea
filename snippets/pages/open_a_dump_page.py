"""Checks of the page about opening a dump."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from programs import layernorm, rnn
from xla_inspect.dumps import Files, list_modules, read_capture
from xla_inspect.jax_private import parse_hlo
from xla_inspect.questions.kernels import rank_launches
from xla_inspect.questions.memory import explain_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xla_inspect import Capture


def dump_files(function: Callable[..., Any], example: Sequence[object], **options: bool) -> dict[str, bytes]:
    """Compile a function with a dump, and return the bytes of its files by name; options go to the compiler."""
    with tempfile.TemporaryDirectory() as place:
        jax.jit(function).lower(*example).compile(compiler_options={"xla_dump_to": place, **options})
        return {path.name: path.read_bytes() for path in Path(place).iterdir()}


def read_module(files: dict[str, bytes], name: str) -> Capture:
    """Return the capture of the only module in a dump whose name contains `name`."""
    opened = Files.from_mapping(files)
    (module,) = (candidate for candidate in list_modules(opened) if name in candidate.name)
    return read_capture(opened, module)


def check_passes() -> None:
    """Assert that memory and kernels can be read from a dump without its passes, and from `.pb` files alone."""
    files = dump_files(layernorm.layernorm, layernorm.EXAMPLE, xla_dump_hlo_as_text=True, xla_dump_hlo_as_proto=True)
    for selection in (files, {name: content for name, content in files.items() if name.endswith(".pb")}):
        capture = read_module(selection, "layernorm")
        assert explain_memory(capture, "").rows
        assert rank_launches(capture, "").launches
        assert not capture.passes
        assert "passes" in capture.missing


def check_elements() -> None:
    """Dump an RNN; assert that its tuple elements become instructions when read, and that no kernel reads a tuple."""
    files = dump_files(rnn.rnn, rnn.EXAMPLE, xla_dump_hlo_as_text=True)
    module = read_module(files, "rnn").module
    (dump,) = (text.decode() for name, text in files.items() if name.endswith("after_optimizations.txt"))
    elements = {
        instruction.name: instruction.operands[0]
        for instruction in module.walk()
        if instruction.opcode == "get-tuple-element"
    }
    assert elements
    for name, tuple_name in elements.items():
        # The dump writes an element of a tuple as `%tuple#0`, without an instruction of its own.
        assert f"%{tuple_name}#{name.removeprefix(f'{tuple_name}_')}" in dump
    reprint = parse_hlo(dump)
    assert all(f"%{name} = " in reprint for name in elements)
    loop = max(module.walk(), key=lambda instruction: instruction.shape.bytes if instruction.opcode == "while" else 0)
    inside = [instruction for body in module.called(loop) for instruction in body]
    whole = {instruction.name for instruction in inside if instruction.shape.is_tuple}
    kernels = [instruction for instruction in inside if instruction.opcode in {"fusion", "copy", "dot"}]
    assert not any(whole & {*instruction.operands} for instruction in kernels)
