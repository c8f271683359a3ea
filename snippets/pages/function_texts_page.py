"""Lists, tables and checks of the texts of one function, from its jaxpr to optimized HLO, in calls and dumps."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.hlo import parse_module
from xla_inspect.report import markdown, print_computation, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax.stages import Compiled, Lowered, Traced

    from xla_inspect.captured import Capture, Captures

BEGINNINGS = {"jaxpr": "{ lambda", "StableHLO": "module @", "HLO": "HloModule "}
"""The beginning of a text in each dialect, by the dialect's name."""


def show_forms(capture: Capture) -> str:
    """Return tabs with the jaxpr, the StableHLO, and the HLO before and after the passes, of one capture."""
    before, after = (
        "\n\n".join(map(print_computation, module.computations))
        for module in (capture.unoptimized_module, capture.module)
    )
    forms = {
        "jaxpr": (capture.jaxpr, "jaxpr"),
        "StableHLO": (capture.stablehlo, "stablehlo"),
        "HLO before the passes": (before, "hlo"),
        "HLO after the passes": (after, "hlo"),
    }
    return markdown.tabs({name: markdown.fence(text, language) for name, (text, language) in forms.items()})


def check_forms(capture: Capture) -> None:
    """Assert that each text of the layer names operations, operands and types, and which have layouts or a schedule."""
    assert re.search(r"^ *\w+:f32\[64,256\] = dot_general\[.*?\] \w+ \w+$", capture.jaxpr, re.MULTILINE | re.DOTALL)
    line = r"^ *%\w+ = stablehlo\.dot_general %\w+, %\w+, .* -> tensor<64x256xf32>$"
    assert re.search(line, capture.stablehlo, re.MULTILINE)
    for text in (capture.before, capture.after):
        line = r"^ *(?:ROOT )?%[\w.-]+ = f32\[64,256\]\{1,0\} dot\(%[\w.-]+, %[\w.-]+\)"
        assert re.search(line, text, re.MULTILINE)
    assert "f32[64,256]" in capture.jaxpr
    assert "tensor<64x256xf32>" in capture.stablehlo
    assert "(tensor<1x256xf32>) -> tensor<64x256xf32>" in capture.stablehlo
    assert "f32[64,256] = broadcast_in_dim" not in capture.jaxpr
    assert "f32[64,256]{1,0}" in capture.before
    assert (capture.unoptimized_module.is_scheduled, capture.module.is_scheduled) == (False, True)
    assert not any(instruction.fusion_kind for instruction in capture.unoptimized_module.walk())
    assert any(instruction.fusion_kind for instruction in capture.module.walk())


def compile_and_dump(lowered: Lowered, passes: str) -> tuple[Compiled, dict[str, str]]:
    """Compile a lowered function, and return the executable and the dumped texts by file name.

    Args:
        lowered: The lowered function.
        passes: A regular expression for the passes after which the module is dumped.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_pass_re": passes, "xla_dump_hlo_as_text": True}
        executable = lowered.compile(options)
        return executable, {path.name: path.read_text(encoding="utf-8") for path in Path(folder).glob("*.txt")}


def list_texts(
    traced: Traced, lowered: Lowered, executable: Compiled, dumps: Mapping[str, str]
) -> list[tuple[str, str, str, str, str]]:
    """Return, for each call and dump file, its name, text, dialect and author, and its place in the compilation."""
    before = next(text for name, text in dumps.items() if name.endswith("before_optimizations.txt"))
    after = next(text for name, text in dumps.items() if ".after_algsimp" in name)
    texts = [
        ("traced.jaxpr", str(traced.jaxpr), "JAX", "after tracing"),
        ("lowered.as_text()", lowered.as_text(), "JAX", "after lowering, before XLA"),
        (
            'lowered.as_text("hlo")',
            lowered.as_text("hlo"),
            "XLA's converter, for JAX",
            "before any pass; not always the compiler's input",
        ),
        ("...before_optimizations.txt", before, "the compiler, in a dump", "before any pass"),
        ("...after_PASS.before_PASS.txt", after, "the compiler, in a dump", "after a pass that changed the module"),
        ("compiled.as_text()", executable.as_text() or "", "the compiler", "after the last pass, scheduled"),
    ]
    return [(call, text, _name_dialect(text), author, when) for call, text, author, when in texts]


def _name_dialect(text: str) -> str:
    return next(name for name, start in BEGINNINGS.items() if text.lstrip().startswith(start))


def show_texts(texts: Sequence[tuple[str, str, str, str, str]]) -> str:
    """Return an HTML table of the result of `list_texts`, with the first word of each text instead of the text."""
    return markdown.cards(
        ["text", "first word", "dialect", "author", "time"],
        [
            (markdown.code(call), markdown.code(BEGINNINGS[dialect]), dialect, author, when)
            for call, _, dialect, author, when in texts
        ],
    )


def check_dumps(dumps: Mapping[str, str], runs: int, lowered: Lowered) -> None:
    """Assert that a dump has files of some passes, for fewer than half the runs, and a dump of one has no others."""
    # The compiler also dumps the module at the start of a pipeline, and no pass has changed it there.
    changing = [name for name in dumps if ".after_" in name and "pipeline-start" not in name]
    passes = {name.split(".after_")[1].split(".before_")[0] for name in changing if ".before_" in name}
    assert {"algsimp", "layout-assignment", "fusion"} <= passes
    assert 0 < len(changing) < runs / 2
    names = [name for name in compile_and_dump(lowered, "algsimp")[1] if ".after_" in name]
    assert names
    assert all(".after_algsimp" in name or ".after_pipeline-start" in name for name in names)


def count_opcode(opcode: str, converted: str, captures: Captures) -> list[tuple[str, int, int]]:
    """Return a label, the counts of one opcode and of all instructions, for a text and for each compiler's input."""
    modules = {'`as_text("hlo")`': parse_module(converted)}
    modules |= {f"the compiler for {title(target)}": capture.unoptimized_module for target, capture in captures.items()}
    return [(label, module.opcode_counts()[opcode], module.instruction_count()) for label, module in modules.items()]
