"""Tables and pictures of StableHLO: its writers and readers, dialects, exported programs, versions and files."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxlib.mlir.dialects import chlo, sdy
from jaxlib.mlir.dialects import stablehlo as dialect

import stamps
from chapters import draw_exchange
from programs import chlo_functions
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from jax.export import Exported

    from xla_inspect import Capture, Captures

_WRITERS = {
    "JAX": ["jax.jit(f).lower(x)", "jax.export.export(...)"],
    "TensorFlow": ["f.experimental_get_compiler_ir(x)"],
    "PyTorch, by PyTorch/XLA": ["torch_xla.stablehlo"],
    "PyTorch, by torchax": ["torchax.export"],
    "PyTorch, by torch-mlir": ["torch_mlir.fx.export_and_import"],
}
_READERS = {
    "XLA on CPU and GPU": ["jaxlib, jax_plugins.xla_cuda13"],
    "XLA on TPU": ["libtpu.so"],
    "IREE": ["iree-compile"],
    "Other PJRT plugins": ["tt-xla, ..."],
    "The reference interpreter": ["stablehlo.eval_module"],
}
_FILES = {
    "written by": ("lowering", "compilation", "every compile, if `jax_compilation_cache_dir` is set"),
    "contains": (
        "StableHLO and a signature",
        "the compiled program and its signature",
        "the compiled program, compressed, under a key",
    ),
    "loads in": (
        "a JAX release that reads its version, on every platform that it was exported for",
        "the same jaxlib, on the same kind of device",
        "the same jaxlib and device, if the key matches",
    ),
    "compiles when loaded": ("yes", "no", "no"),
    "purpose": ("deployment", "fast start on identical machines", "fast restart"),
}
_DIALECTS = (
    ("StableHLO", dialect, "the specified operations that compilers agree to read"),
    ("CHLO", chlo, "convenience operations for clients, which expand into StableHLO; no compatibility promise"),
    ("sdy", sdy, "Shardy's meshes, shardings and collectives, in the same module as StableHLO"),
)
# The lookbehind excludes values, symbols, attributes and strings, which may contain the name of a dialect.
_MLIR = re.compile(r"(?<![\w#!%.\"])(?:arith|builtin|func|llvm|math|scf|stablehlo|tensor|tt|xla|xtile)\.")
_OPEN_SHAPES = re.compile(r"get_dimension_size|compare|call @_wrapped|dot_general|dynamic_broadcast")


def read_readers() -> tuple[dict[str, Any], list[str]]:
    """Return the record in `docs/data` of files that JAX releases write and read, and the releases, oldest first."""
    record = stamps.read_current(Path("docs/data/stablehlo-readers.json"))  # its newest release is the installed one
    # Parts of a version are compared as numbers, because 0.10 is newer than 0.9.
    return record, sorted(record["stablehlo"], key=lambda release: tuple(map(int, release.split("."))))


def count_read(record: Mapping[str, Any], releases: Sequence[str], *, exports: bool) -> tuple[int, int]:
    """Return how many of the oldest release's recorded files the newest release reads, and the number of these files.

    Args:
        record: The record of the files and their readers.
        releases: Releases of JAX, oldest first.
        exports: If true, count `jax.export` files; otherwise, count portable artifacts.
    """
    files = [
        file for file in record["files"] if file["writer"] == releases[0] and (file["file"] == "jax.export") is exports
    ]
    return sum(releases[-1] in file["read_by"] for file in files), len(files)


def show_exchange() -> str:
    """Return a diagram of the frameworks that write StableHLO and the compilers that read it, as HTML."""
    caption = "Left: the calls that write StableHLO. Right: the programs that read it."
    return draw_exchange(_WRITERS, ("StableHLO", "one text, or one file"), _READERS, caption)


def list_names(module: ModuleType) -> list[str]:
    """Return the names of an MLIR dialect's operations, sorted, without the dialect's prefix."""
    # A dialect's module also contains classes that are no operations.
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and hasattr(kind, "OPERATION_NAME")]
    return sorted({str(kind.OPERATION_NAME).partition(".")[2] for kind in kinds})


def show_dialects() -> str:
    """Return a Markdown table of three dialects in the installed jaxlib, with a fold that lists their operations."""
    rows = [(name, len(list_names(module)), meaning) for name, module, meaning in _DIALECTS]
    # The list is excluded from the site's search, because almost every query would match one of its names.
    names = "\n\n".join(
        f"**{name}**: {', '.join(map(markdown.code, list_names(module)))}\n{{ data-search-exclude }}"
        for name, module, _ in _DIALECTS
    )
    table = markdown.table(["dialect", "operations", "purpose"], rows, numbers=[1])
    return f"{table}\n{markdown.fold('All operations by name', names)}"


def count_operations(module_text: str) -> Counter[str]:
    """Return how many times the text of a module contains each operation of StableHLO and CHLO."""
    return Counter(re.findall(r"\b(?:stablehlo|chlo)\.\w+", module_text))


def count_of(counts: Mapping[str, int], name: str) -> int:
    """Return the number of counted operations that belong to one dialect."""
    return sum(count for operation, count in counts.items() if operation.startswith(f"{name}."))


def show_counts(counts: Mapping[str, int]) -> str:
    """Return the counts of `count_operations` as a Markdown table, sorted by name."""
    rows = [(markdown.code(name), number) for name, number in sorted(counts.items())]
    return markdown.table(["operation", "count"], rows, numbers=[1])


def find_line_with(text: str, word: str) -> str:
    """Return the first line of a text that contains a word, without HLO metadata."""
    line = next(line for line in text.splitlines() if word in line)
    return re.sub(r", metadata=\{.*", "", line).strip()


def show_root(capture: Capture) -> str:
    """Return an HTML table of the lines with the square root of two, from the jaxpr to the HLO after the first pass."""
    after = capture.passes[0]
    rows = [
        ("jaxpr", find_line_with(capture.jaxpr, "sqrt")),
        ("StableHLO", find_line_with(capture.stablehlo, "stablehlo.sqrt")),
        ("HLO before the first pass", find_line_with(capture.before, "constant(1.41")),
        ("HLO before the first pass", find_line_with(capture.before, "divide(")),
        (f"HLO after {after.name}", find_line_with(after.text, "constant(0.707")),
    ]
    return markdown.cards(["stage", "line"], [(stage, markdown.code(line)) for stage, line in rows])


def is_one_opcode(capture: Capture, name: str) -> bool:
    """Return whether a CHLO operation is a single opcode in the HLO that a compiler receives."""
    # CHLO spells names with underscores, HLO with hyphens.
    return capture.unoptimized_module.opcode_counts()[name.replace("_", "-")] > 0


def show_expanded(captures: Captures) -> str:
    """Return a Markdown table that says for each CHLO function and target `opcode` (one instruction) or `expanded`."""
    rows = [
        (
            markdown.code(f"chlo.{name}"),
            *("opcode" if is_one_opcode(capture, name) else "expanded" for capture in captures.values()),
        )
        for name in chlo_functions.FUNCTIONS
    ]
    return markdown.table(["CHLO function", *map(title, captures)], rows)


def show_export(exported: Exported) -> str:
    """Return a Markdown table of the contents of the file that an exported function is serialized to."""
    rows = [
        ("the program", "StableHLO as a *portable artifact*; see [versions](#versions)"),
        ("platforms", ", ".join(map(markdown.code, exported.platforms))),
        ("arguments", ", ".join(markdown.code(str(aval)) for aval in exported.in_avals)),
        ("results", ", ".join(markdown.code(str(aval)) for aval in exported.out_avals)),
        ("calling convention", f"version {exported.calling_convention_version}"),
        ("devices", f"{exported.nr_devices}"),
        ("gradient", "yes" if exported.has_vjp() else "none; `serialize(vjp_order=1)` would include it"),
    ]
    return markdown.table(["part of the file", "value here"], rows)


def find_versioned(vhlo: str, name: str) -> str:
    """Return the first line of VHLO (versioned StableHLO) that contains `name`, without its types."""
    line = next(line.strip() for line in vhlo.splitlines() if name in line)
    return re.sub(r"(>|\)) : \(.*", r"\1", line)


def show_versions(texts: Mapping[str, str]) -> str:
    """Return a listing of a square root's and a composite's line as each version writes them."""
    blocks = [
        f"// {version}\n{find_versioned(vhlo, 'sqrt')}\n{find_versioned(vhlo, 'composite')}"
        for version, vhlo in texts.items()
    ]
    return markdown.fence("\n\n".join(blocks), "stablehlo")


def list_requirements() -> dict[str, str]:
    """Return the StableHLO version that jaxlib writes for each compatibility requirement, such as `WEEK_4`."""
    requirements = dialect.StablehloCompatibilityRequirement
    return {
        name: dialect.get_version_from_compatibility_requirement(getattr(requirements, name))
        for name in ("NONE", "WEEK_4", "WEEK_12", "MAX")
    }


def show_requirements(versions: Mapping[str, str]) -> str:
    """Return the result of `list_requirements` as a Markdown table, with the releases that can read each version."""
    readers = {"NONE": "this release only", "MAX": "all releases"}
    rows = [
        (
            markdown.code(name),
            readers.get(name, f"releases of the last {name.partition('_')[2]} weeks"),
            markdown.code(version),
        )
        for name, version in versions.items()
    ]
    return markdown.table(["requirement", "must be readable by", "version written"], rows)


def show_readers(files: Sequence[Mapping[str, Any]], releases: Sequence[str]) -> str:
    """Return a Markdown table of recorded files of the newest release, with `yes` or `no` for each reading release."""
    rows = [
        (file["program"], file["file"], *("yes" if release in file["read_by"] else "no" for release in releases))
        for file in files
    ]
    columns = [f"program, written by JAX {releases[-1]}", "format", *(f"read by JAX {name}" for name in releases)]
    return markdown.table(columns, rows)


def show_open_shapes(exported: Exported, module_text: str) -> str:
    """Return the signature of an export with an open dimension, the lines that handle it, and the folded module."""
    signature = f"in  {', '.join(map(str, exported.in_avals))}\nout {', '.join(map(str, exported.out_avals))}"
    lines = [line.strip() for line in module_text.splitlines() if _OPEN_SHAPES.search(line)]
    parts = (
        markdown.fence(signature, "text"),
        markdown.fence("\n".join(lines), "stablehlo"),
        markdown.fold("The whole module", markdown.fence(module_text, "stablehlo")),
    )
    return "\n".join(parts)


def show_files(contents: Mapping[str, set[str]]) -> str:
    """Return an HTML table of the kinds of files that a program can be stored in.

    Args:
        contents: File names, mapped to the marks that this build found in each file.
    """
    rows = [
        [
            markdown.escape(name),
            *(
                re.sub("`([^`]*)`", r"<code>\1</code>", text)
                for text in (*(words[column] for words in _FILES.values()), ", ".join(sorted(contents[name])))
            ),
        ]
        for column, name in enumerate(contents)
    ]
    return markdown.cards(["file", *_FILES, "found in the file by this build"], rows)


def show_mlir(stablehlo: str, loop: str, triton: str) -> str:
    """Return a table of a program's stages, MLIR or not, with their dialects, and a fold with a CPU fusion in MLIR.

    Args:
        stablehlo: The program as JAX writes it.
        loop: The MLIR of a loop fusion on the CPU.
        triton: The MLIR of a matmul that Triton compiles.
    """
    rows = [
        ("StableHLO from JAX", "yes", _list_dialects(stablehlo)),
        ("HLO before and after every pass", "no", "none: HLO text"),
        ("a loop fusion on the CPU", "yes", _list_dialects(loop)),
        (f"a Triton matmul on the H100 {markdown.by_model()}", "yes", _list_dialects(triton)),
        ("LLVM IR, PTX, machine code", "no", "none: LLVM's text"),
        ("the TPU's code below HLO", "no", "none: LLO (libtpu's low-level operations)"),
    ]
    # The target's data layout is long and does not describe the fusion.
    fence = markdown.fence(re.sub(r" attributes \{dlti.*", " {", loop), "stablehlo")
    folded = markdown.fold("The CPU's fusion of bias and relu in MLIR, after XLA's MLIR passes", fence)
    return f"{markdown.table(['stage', 'MLIR', 'dialects'], rows)}\n{folded}"


def _list_dialects(module_text: str) -> str:
    # Every module is an operation of `builtin`, so this dialect says nothing about the stage.
    names = {prefix[:-1] for prefix in _MLIR.findall(module_text)} - {"builtin"}
    return ", ".join(map(markdown.code, sorted(names)))
