"""Lists, tables and counts of the page of questions: dumps, captured constants, compile phases, memory, copies."""

from __future__ import annotations

import json
import logging
import re
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from claims import evidence
from programs import layer
from xla_inspect import targets
from xla_inspect.plural import plural
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jax.stages import Lowered

    from xla_inspect import Capture, Captures
    from xla_inspect.captured import Memory
    from xla_inspect.hlo import Instruction

_PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
_FRAMES = """
import json, tempfile
from pathlib import Path
import jax
from programs import layer

def dump_layer(**options):
    with tempfile.TemporaryDirectory() as folder:
        jax.jit(layer.layer).lower(*layer.EXAMPLE).compile({"xla_dump_to": folder, **options})
        (file,) = Path(folder).glob("*cpu_after_optimizations.txt")
        return file.read_text(encoding="utf-8")

texts = {"by default": dump_layer(), "inline": dump_layer(xla_hlo_print_inline_stack_frames=True)}
print(json.dumps(texts))
"""


def list_questions() -> dict[str, list[tuple[str, str]]]:
    """Return pairs (question, anchor) read from the page `docs/questions.md`, by the title of their group."""
    page = _PAGE.read_text(encoding="utf-8")
    groups = re.split(r"^## ", page.split("\n# Questions", 1)[1], flags=re.MULTILINE)[1:]
    return {
        group.partition(" {")[0]: re.findall(r"^### (.*?) \{ #([\w-]+) \}", group, re.MULTILINE)
        for group in groups
        if "\n### " in group
    }


def show_texts(texts: Mapping[str, tuple[str, str]]) -> str:
    """Return an HTML table of texts: the call that returns each, its description, and 60 letters of its first line."""
    rows = [
        (markdown.code(call), meaning, markdown.code(text.split("\n")[0][:60]))
        for call, (meaning, text) in texts.items()
    ]
    return markdown.cards(["call", "text", "beginning of the text"], rows)


def show_parts(fusion: Instruction, copied: Instruction) -> str:
    """Return a Markdown table that explains the parts of a TPU fusion, and the layout of a copy in on-chip memory."""
    layouts = [str(it.shape).removeprefix(it.shape.plain) for it in (fusion, copied)]
    rows = [
        (markdown.code(fusion.name), "the name of the value, which other lines use as an operand"),
        (markdown.code(fusion.shape.plain), "element type and shape"),
        (markdown.code(layouts[0]), "the layout: the order of the dimensions, fastest-varying first, and the tile"),
        (markdown.code(layouts[1]), f"the layout of {markdown.code(copied.name)}, where S(1) means on-chip memory"),
        (
            markdown.code(fusion.fusion_kind or ""),
            "the kind of fusion: this one is built around the matmul that feeds its result",
        ),
        (markdown.code(f"calls=%{fusion.calls['calls'][0]}"), "the computation that contains the fused instructions"),
    ]
    return markdown.table(["part", "meaning"], rows)


def find_fusion(capture: Capture, opcode: str) -> tuple[Instruction, list[Instruction]]:
    """Return the first fusion of ENTRY that contains an opcode, and its instructions that have a line of Python."""
    module = capture.module
    insides = {it.name: list(module.computation(it.calls["calls"][0])) for it in module.entry if it.opcode == "fusion"}
    name = next(name for name, inside in insides.items() if any(inner.opcode == opcode for inner in inside))
    return module.entry.by_name[name], [inner for inner in insides[name] if inner.op_name and inner.stack_frame]


def show_inside(capture: Capture, fusion: Instruction, inner: Sequence[Instruction]) -> str:
    """Return a folded table of the JAX operations in a fusion, each once, with its line of Python."""
    rows = dict.fromkeys(
        ((it.op_name or "").rpartition("/")[2], it.opcode, capture.frames[it.stack_frame or 0][0].line) for it in inner
    )
    cells = [(markdown.code(name), markdown.code(opcode), line) for name, opcode, line in rows]
    table = markdown.table(["op_name ends in", "opcode", "line"], cells, numbers=[2])
    return markdown.fold(f"{fusion.name}: {plural(len(rows), 'operation')} of Python", table)


def dump_frames() -> dict[str, str]:
    """Dump the dense layer's HLO text; return it under `by default`, and under `inline` with inline stack frames.

    XLA reads the option once per process, so the dumps are made in a new process that has printed nothing before.
    """
    # The output begins with the exit status and may contain warnings, so only its last line is JSON.
    texts: dict[str, str] = json.loads(evidence.run_python(_FRAMES).splitlines()[-1])
    return texts


def find_line_of(text: str, opcode: str) -> str:
    """Return the first line of HLO text that has an instruction with this opcode."""
    return next(line for line in text.splitlines() if f" {opcode}(" in line)


def show_frames(dumped: Mapping[str, str]) -> str:
    """Return a Markdown table of the metadata of `maximum` by dump, without paths and numbers that vary by machine."""
    rows = []
    for name, text in dumped.items():
        line = find_line_of(text, "maximum")
        metadata = re.sub(r'="(?:[^"\\]|\\.)*/(snippets/)', r'="\1', line[line.index("metadata=") :])
        rows.append((name, markdown.code(re.sub(r"(?<=stack_frame_id=)\d+", "NUMBER", metadata))))
    return markdown.table(["dump", "metadata of the maximum"], rows)


def list_weighed(log: Sequence[str]) -> dict[str, str]:
    """Return the log line of the first GPU fusion that saves time by the cost model (`gains`), and one that `loses`."""
    times = [(line, re.search(r"([\d.]+) us fused, ([\d.]+) us apart", line)) for line in log]
    pairs = [(line, float(match[1]) - float(match[2])) for line, match in times if match]
    return {
        "gains": next(line for line, more in pairs if more < 0),
        "loses": next(line for line, more in pairs if more > 0),
    }


def show_constants(programs: Mapping[str, tuple[Lowered, Any]]) -> str:
    """Return a Markdown table of sizes in bytes with closed-over weights and with weights as an argument.

    Args:
        programs: The place of the weights, to the lowered program and the memory analysis of its executable.
    """
    rows = [
        (
            way,
            markdown.size(len(text.as_text())),
            markdown.size(plan.argument_size_in_bytes),
            markdown.size(plan.peak_memory_in_bytes),
        )
        for way, (text, plan) in programs.items()
    ]
    return markdown.table(["the weights are", "StableHLO", "arguments", "peak"], rows, numbers=(1, 2, 3))


def list_warnings(make: Callable[[], object], **options: int) -> list[str]:
    """Call `make` under options of JAX, return the messages of its warnings, and restore the options."""
    before = {name: getattr(jax.config, name) for name in options}
    for name, value in options.items():
        jax.config.update(name, value)
    try:
        with warnings.catch_warnings(record=True) as caught:
            # By default, Python shows a warning only once per place.
            warnings.simplefilter("always")
            make()
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
    return [str(warning.message) for warning in caught]


def list_phases() -> list[str]:
    """Compile a function, and return the names of JAX's timed events that contain `/core/compile/`."""
    events: dict[str, float] = {}

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        events[event] = duration_secs

    jax.monitoring.register_event_duration_secs_listener(listen)
    jax.jit(lambda x: jnp.sin(x) * 2).lower(1.0).compile()
    jax.monitoring.unregister_event_duration_listener(listen)
    return [event for event in events if "/core/compile/" in event]


def count_logged_phases(*phases: str) -> list[int]:
    """Compile a function with `jax.log_compiles`, and return how many times JAX logs the end of each phase."""
    messages: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("jax")
    logger.addHandler(listener)
    with jax.log_compiles():
        jax.jit(lambda x: jnp.cos(x) * 3).lower(1.0).compile()
    logger.removeHandler(listener)
    return [sum(text.startswith(f"Finished {phase}") for text in messages) for phase in phases]


def list_timed_targets(*names: str) -> Iterator[str]:
    """Compile the layer for the named targets; yield those whose compiler writes pass times into a dump's metadata."""
    for target in names:
        # The default device selects the compiler, even for hardware that is not present.
        with tempfile.TemporaryDirectory() as folder, jax.default_device(targets.find_target(target).devices()[0]):
            options = {"xla_dump_to": folder, "xla_dump_module_metadata": True}
            jax.jit(layer.layer).lower(*layer.EXAMPLE).compile(options)
            texts = [file.read_text(encoding="utf-8") for file in Path(folder).glob("*.metadata.textproto")]
        if any("end_timestamp_usec" in text for text in texts):
            yield target


def add_memory(memory: Memory) -> int:
    """Return the bytes that one call occupies: arguments, results and temporary memory, without its code."""
    # An aliased result shares the memory of an argument, which is counted already.
    return memory.arguments + memory.outputs - memory.aliased + memory.temporaries


def show_memory(captures: Captures) -> str:
    """Return a Markdown table of the transformer block's memory analysis and the result of `add_memory`, by target."""
    fields = ("arguments", "outputs", "aliased", "temporaries", "peak")
    rows = [(name, *(markdown.size(getattr(it.memory, name)) for it in captures.values())) for name in fields]
    total = "arguments + outputs - aliased + temporaries"
    rows.append((total, *(markdown.size(add_memory(it.memory)) for it in captures.values())))
    return markdown.table(["the transformer block", *map(title, captures)], rows, numbers=range(1, 4))


def count_copies(capture: Capture, shape: str) -> int:
    """Return the number of copies of arrays with a shape such as `f32[8]` in the program, also asynchronous ones."""
    # A `copy-start` returns a tuple, so the shape of the array is searched in the text of its shape.
    return sum(it.opcode in {"copy", "copy-start"} and shape in it.shape.plain for it in capture.module.walk())
