"""The checks of the page that opens a dump."""

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
    """Return the files of a dump by name."""
    with tempfile.TemporaryDirectory() as place:
        jax.jit(function).lower(*example).compile(compiler_options={"xla_dump_to": place, **options})
        return {path.name: path.read_bytes() for path in Path(place).iterdir()}


def read_module(files: dict[str, bytes], name: str) -> Capture:
    """Return the capture of the one module of a dump whose name has `name` in it."""
    opened = Files.from_mapping(files)
    (module,) = (each for each in list_modules(opened) if name in each.name)
    return read_capture(opened, module)


def check_passes() -> None:
    """Check that memory and kernels are read without the modules between passes, and from protocol buffers alone."""
    files = dump_files(layernorm.layernorm, layernorm.EXAMPLE, xla_dump_hlo_as_text=True, xla_dump_hlo_as_proto=True)
    for given in (files, {name: content for name, content in files.items() if name.endswith(".pb")}):
        capture = read_module(given, "layernorm")
        assert explain_memory(capture, "").rows
        assert rank_launches(capture, "").launches
        assert not capture.passes
        assert "passes" in capture.missing


def check_elements() -> None:
    """Check that elements of tuples are instructions as XLA's parser makes them, and that no kernel reads all."""
    files = dump_files(rnn.rnn, rnn.EXAMPLE, xla_dump_hlo_as_text=True)
    module = read_module(files, "rnn").module
    (written,) = (text.decode() for name, text in files.items() if name.endswith("after_optimizations.txt"))
    elements = {each.name: each.operands[0] for each in module.walk() if each.opcode == "get-tuple-element"}
    assert elements
    for name, tuple_name in elements.items():
        assert f"%{tuple_name}#{name.removeprefix(f'{tuple_name}_')}" in written
    parsed = parse_hlo(written)
    assert all(f"%{name} = " in parsed for name in elements)
    loop = max(module.walk(), key=lambda each: each.shape.bytes if each.opcode == "while" else 0)
    inside = [each for body in module.called(loop) for each in body]
    whole = {each.name for each in inside if each.shape.is_tuple}
    kernels = [each for each in inside if each.opcode in {"fusion", "copy", "dot"}]
    assert not any(whole & {*each.operands} for each in kernels)
