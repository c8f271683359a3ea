"""Checks of the page about opening a dump."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from programs import layernorm, rnn
from xla_inspect.dumps import Files, list_modules, read_capture
from xla_inspect.errors import InspectError
from xla_inspect.jax_private import parse_hlo, start_profiler
from xla_inspect.questions.kernels import join_times, measure_program, rank_launches
from xla_inspect.questions.memory import explain_memory
from xla_inspect.traces import open_profile

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


def check_kinds() -> None:
    """Assert that files of each kind open alone: quoted text, an executable, the parts of a plan, and a profile."""
    with jax.default_device(jax.devices("cpu")[0]):
        arguments = [jax.numpy.ones(shape.shape, shape.dtype) for shape in layernorm.EXAMPLE]
        compiled = jax.jit(layernorm.layernorm).lower(*arguments).compile()
        session = start_profiler()
        jax.block_until_ready(compiled(*arguments))
        profile = session.stop()
    plans = dump_files(layernorm.layernorm, layernorm.EXAMPLE, xla_dump_hlo_as_text=True)
    ends = ("buffer-assignment.txt", "live-range.txt", "memory-usage-report.txt")
    contents = [content for name, content in plans.items() if name.endswith(ends)]
    assert len(contents) == len(ends)
    fenced = f"It is slow:\n\n```\n{compiled.as_text()}```\n".encode()
    executable: Any = compiled.runtime_executable()
    for content in (*contents, fenced, executable.serialize()):
        assert explain_memory(read_module({"layernorm.txt": content}, "layernorm"), "").rows
    opened = Files.from_mapping({"vm.xplane.pb": profile})
    # A profile has every program of its process, and the program that ran last is the newest with its name.
    capture = read_capture(opened, [module for module in list_modules(opened) if "layernorm" in module.name][-1])
    times = join_times(capture, measure_program(capture, open_profile("vm.xplane.pb", profile)))
    assert {launch.name for launch in rank_launches(capture, "").launches} <= {row.name for row in times.launches}


def check_commands() -> None:
    """Assert that the message about a file that needs a compiler or a program ends with the command, with its name."""
    lowered = jax.jit(layernorm.layernorm).lower(*layernorm.EXAMPLE)
    exported = jax.export.export(jax.jit(layernorm.layernorm))(*layernorm.EXAMPLE)
    commands: dict[str, tuple[bytes, str]] = {
        "my step.mlir": (lowered.as_text().encode(), "summary 'my step.mlir'"),
        "step.bc": (exported.mlir_module_serialized, "summary step.bc"),
        "exported": (bytes(exported.serialize()), "summary exported"),
        "net/saved_model.pb": (b"\x08\x01", "summary net"),
        "trace.json": (b'{"traceEvents": []}', "kernels FILE.py:FUNCTION --trace trace.json"),
        "nsys.csv": (b"Start (ns),Duration (ns),Name", "kernels FILE.py:FUNCTION --trace nsys.csv"),
    }
    for name, (content, command) in commands.items():
        reason = ""
        try:
            list_modules(Files.from_mapping({name: content}, place=""))
        except InspectError as error:
            reason = str(error)
        assert reason.endswith(f": xla-inspect {command}"), (name, reason)


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
