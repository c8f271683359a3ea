"""Tables and checks for the page about reading HLO."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chapters import anatomy
from programs import softmax
from xla_inspect import capture as capture_one
from xla_inspect.analysis import parse_buffers
from xla_inspect.compilation import RefusedHloError, read_back
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.captured import Capture, Captures
    from xla_inspect.hlo import Frame, Instruction

FIELDS = {
    "is_scheduled": "instructions are in execution order",
    "entry_computation_layout": "types and layouts of the arguments and the result: the contract with the caller",
    "allow_spmd_sharding_propagation_to_parameters": "whether the compiler may choose the sharding of each argument",
    "allow_spmd_sharding_propagation_to_output": "whether the compiler may choose the sharding of the result",
    "frontend_attributes": "named notes; here the layout and memory of the arguments",
}


def find_product(capture: Capture) -> Instruction:
    """Return the first fusion of the entry computation of kind `kCustom` or `kOutput`, which contains the matmul."""
    return next(fusion for fusion in capture.module.entry if fusion.fusion_kind in {"kCustom", "kOutput"})


def read_configuration(instruction: Instruction) -> dict[str, Any]:
    """Return an instruction's `backend_config` as parsed JSON; it is empty if there is none."""
    configuration: dict[str, Any] = json.loads(instruction.backend_config or "{}")
    return configuration


def show_configuration(instruction: Instruction) -> str:
    """Return an instruction's `backend_config` as indented JSON in a fence."""
    return markdown.fence(json.dumps(read_configuration(instruction), indent=1), "json")


def read_or_refuse(text: str) -> str:
    """Parse HLO text, and return it as XLA's parser prints it, or the parser's error message."""
    try:
        return read_back(text)
    except RefusedHloError as refusal:
        return str(refusal)


def list_planned(capture: Capture) -> list[int]:
    """Return the sizes of the arguments in the memory plan, in bytes."""
    return [row.size for row in parse_buffers(capture.buffers).allocations if row.kind == "parameter"]


def check_order(text: str, captures: Captures) -> None:
    """Assert the order of a module's parts: header, tables of frames, then callees before their callers."""
    first, *tables, last = re.findall(r"^(HloModule|[A-Z]\w+s$|ENTRY)", text, re.MULTILINE)
    assert (first, last) == ("HloModule", "ENTRY")
    assert tables == ["FileNames", "FunctionNames", "FileLocations", "StackFrames"]
    for capture in captures.values():
        names = [computation.name for computation in capture.module.computations]
        assert capture.module.computations[-1].is_entry
        for instruction in capture.module.walk():
            for callee in instruction.called:
                assert names.index(callee) < names.index(instruction.computation)


def show_fields(captures: Captures) -> str:
    """Return a folded table of the fields of `FIELDS` in the modules' headers, with their meanings and targets."""
    rows = [
        (
            f"<code>{field}</code>",
            meaning,
            ", ".join(title(target) for target, capture in captures.items() if field in capture.module.attributes),
        )
        for field, meaning in FIELDS.items()
    ]
    header = ["field", "meaning", "in the module for"]
    return markdown.fold(f"The {len(rows)} fields of these headers", markdown.cards(header, rows))


def show_computations(capture: Capture) -> str:
    """Return an HTML table of a module's computations, with the caller and the number of instructions of each."""
    callers = {
        callee: f"{markdown.code(f'{key}=')} of {markdown.code(instruction.name)}, {markdown.code(instruction.opcode)}"
        for instruction in capture.module.walk()
        for key, callees in instruction.calls.items()
        for callee in callees
    }
    # Callees come first in a module, but a reader starts at ENTRY.
    rows = [
        (
            markdown.code(computation.name),
            callers.get(computation.name, "nothing: <code>ENTRY</code>"),
            str(len(computation)),
        )
        for computation in reversed(capture.module.computations)
    ]
    return markdown.cards(["computation", "used by", "instructions"], rows)


def check_form(capture: Capture) -> None:
    """Assert that each line reads `name = shape opcode(operands)`, that operands are names, and names are unique."""
    for instruction in capture.module.walk():
        pattern = rf"\s+(?:ROOT )?%{re.escape(instruction.name)} = {re.escape(instruction.shape.text)} [a-z-]+\("
        assert re.match(pattern, instruction.text)
        assert set(instruction.operands) <= set(capture.module.computation(instruction.computation).by_name)
    names = [instruction.name for instruction in capture.module.walk()]
    assert len(names) == len(set(names))


def check_padding() -> None:
    """Compile for the TPU, and assert that arguments of five ranks and types need the memory of different tiles."""
    import jax
    import jax.numpy as jnp

    padded = {}
    for dimensions, dtype in (
        ((), jnp.float32),
        ((200,), jnp.float32),
        ((2, 20, 200), jnp.float32),
        ((4, 8), jnp.float32),
        ((20, 200), jnp.int8),
    ):
        doubled = capture_one(lambda x: x + x, jax.ShapeDtypeStruct(dimensions, dtype), target="tpu-v5e")
        argument = doubled.module.entry.parameters[0].shape
        (size,) = list_planned(doubled)
        assert size == argument.padded_bytes > argument.bytes, argument.text
        padded[argument.layout.tiles if argument.layout else ()] = size
    assert len(padded) == 5


def show_attributes(captures: Captures) -> str:
    """Return a folded table of the attributes of the modules' instructions, with their meanings and opcodes."""
    opcodes: dict[str, dict[str, None]] = {}
    for capture in captures.values():
        for instruction in capture.module.walk():
            for key in instruction.attributes:
                opcodes.setdefault(key, {})[instruction.opcode] = None
    rows = [
        (
            f"<code>{key}</code>",
            anatomy.ATTRIBUTES[key],
            "most opcodes" if len(names) > 6 else ", ".join(map(markdown.code, names)),
        )
        for key, names in opcodes.items()
    ]
    header = ["attribute", "meaning", "opcodes"]
    return markdown.fold(f"The {len(rows)} attributes of these modules", markdown.cards(header, rows))


def check_attributes(captures: Captures) -> None:
    """Assert that a broadcast needs its `dimensions`, and that metadata contains only names and places."""
    broadcast = next(
        instruction
        for instruction in captures["cpu"].module.walk()
        if instruction.opcode == "broadcast"
        and instruction.shape.dimensions
        and instruction.attributes["dimensions"] != "{}"
    )
    assert broadcast.attributes["dimensions"] == "{1}"
    lines = "HloModule bias\n\nENTRY main {{\n  b = f32[4] parameter(0)\n  ROOT y = f32[4,4] broadcast(b){}\n}}"
    assert "dimensions={0}" in read_back(lines.format(", dimensions={0}"))
    assert "attribute dimensions is expected but not seen" in read_or_refuse(lines.format(""))
    captures.require()
    noted = {
        key
        for capture in captures.values()
        for instruction in capture.module.walk()
        for key in re.findall(r"(\w+)=", instruction.attributes.get("metadata", ""))
    }
    assert noted == {"op_name", "stack_frame_id", "scheduling_name"}


def check_configurations(captures: Captures) -> None:
    """Assert the contents of each target's `backend_config` of the fusion with the matmul."""
    captures.require()
    configurations = {target: read_configuration(find_product(capture)) for target, capture in captures.items()}
    assert configurations["cpu"]["fusion_config"] == {"kind": "__ynn_fusion"}
    triton = configurations["h100"]["fusion_backend_config"]
    assert triton["kind"] == "__triton_nested_gemm_fusion"
    assert {"output_tiles", "num_warps"} <= set(triton["block_level_fusion_config"])
    assert configurations["tpu-v5e"]["aliasing_operands"] == {"lists": []}
    assert configurations["tpu-v5e"]["scoped_memory_configs"] == []
    assert len({frozenset(configuration) for configuration in configurations.values()}) == len(configurations)
    assert captures["h100"].options["xla_gpu_autotune_level"] == 0


def read_row(hlo_text: str, table: str, number: int) -> str:
    """Return the row with this number of a table such as `StackFrames` in HLO text, without the number, or ''."""
    body = re.search(rf"^{table}\n((?:.+\n)+)", hlo_text, re.MULTILINE)
    row = re.search(rf"^{number} (.*)$", body[1] if body else "", re.MULTILINE)
    return row[1] if row else ""


def read_numbers(row: str) -> dict[str, int]:
    """Return the numbers in a row of a table of Python frames, by name."""
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", row)}


def list_frames(hlo_text: str, frame: int) -> list[tuple[str, str, str]]:
    """Return the rows of `StackFrames` from a frame to the outermost one: each row, its source line, and its parent."""
    rows = []
    while frame:
        level = read_row(hlo_text, "StackFrames", frame)
        place = read_numbers(read_row(hlo_text, "FileLocations", read_numbers(level)["file_location_id"]))
        function = read_row(hlo_text, "FunctionNames", place["function_name_id"]).strip('"')
        # HLO text contains the number of the parent plus one, so the outermost frame has 1.
        parent = read_numbers(level)["parent_frame_id"] - 1
        where = f"line {place['line']} in {markdown.code(function)}"
        rows.append((markdown.code(f"{frame} {level}"), where, str(parent) if parent else "none"))
        frame = parent
    return rows


def check_frames(chain: Sequence[Frame], file: str) -> None:
    """Assert that each frame's line of a file calls the function of the next inner frame; the innermost is first."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    for inner, outer in pairwise(chain):
        calling = " ".join(lines[outer.line - 1 : outer.end_line])
        # The qualified name of a nested function begins with the name of the function around it.
        assert inner.function.split(".")[0] in calling or inner.function.startswith(outer.function)


def measure_argument(columns: int) -> tuple[str, int, int]:
    """Compile softmax of 20 rows for the TPU; return its argument's type, bytes of elements, and bytes in memory."""
    import jax
    import jax.numpy as jnp

    example = jax.ShapeDtypeStruct((20, columns), jnp.float32)
    shape = capture_one(softmax.softmax, example, target="tpu-v5e").module.entry.parameters[0].shape
    return markdown.code(shape.text), shape.bytes, shape.padded_bytes


def check_names(captures: Captures) -> None:
    """Assert that operands are names only, that parameters have their Python names, and that calls are inlined."""
    for capture in captures.values():
        assert all(instruction.operand_shapes is None for instruction in capture.module.walk())
        assert sorted(parameter.name for parameter in capture.module.entry.parameters) == ["b.1", "w.1", "x.1"]
        assert "call" not in capture.module.opcode_counts()
        assert not capture.unoptimized_module.is_scheduled
        assert capture.module.is_scheduled
    assert "%Arg_0.1 = " in captures["cpu"].before
