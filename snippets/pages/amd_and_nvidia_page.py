"""Captures, tables and checks of the page that compares AMD's and NVIDIA's GPUs."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from chapters import StripBox, draw_strips, gallery_matrix
from pages.low_precision_page import list_units
from programs import layouts, narrow, product, softmax
from programs.gallery import PROGRAMS
from xla_inspect import TargetUnavailableError, capture, capture_all
from xla_inspect.analysis import custom_fusion_kind, list_kernels
from xla_inspect.hlo import parse_module
from xla_inspect.report import markdown, short, title
from xla_inspect.targets import describe_topology, find_plugin, find_target, read_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from xla_inspect.analysis import Launch
    from xla_inspect.captured import Capture, Captures

    type Programs = Mapping[str, Mapping[str, Capture]]

PAIR, AMD = ("h100", "mi300x"), ("mi250", "mi300x", "mi350x")
NAMES = (
    *("layer", "mlp", "softmax", "layernorm", "standardize", "attention"),
    *("block", "rnn", "ranked", "conv-step", "cholesky", "parallel"),
)
"""The names of the twelve programs in the gallery."""

FIGURES = {
    "threads_per_warp": "threads of a warp or wave",
    "shared_memory_per_block_optin": "shared memory of one block at most",
    "shared_memory_per_core": "shared memory of a multiprocessor or compute unit",
    "registers_per_core_limit": "registers of a multiprocessor or compute unit",
    "core_count": "multiprocessors or compute units",
    "device_memory_size": "main memory",
    "memory_bandwidth": "bytes per second of main memory",
}
"""Fields of XLA's descriptions of GPUs, each with its meaning."""

PRODUCTS = {
    "float32": (product.product, [narrow.shape("float32", 1024, 1024)] * 2),
    "float32, highest precision": layouts.PROGRAMS["highest"],
    "bfloat16": (product.product, [narrow.shape("bfloat16", 1024, 1024)] * 2),
    "float8_e4m3fn": (product.product, [narrow.shape("float8_e4m3fn", 1024, 1024)] * 2),
}
"""Programs that multiply two square matrices, by the type and precision of the matmul."""

SMALLER = {("float32, highest precision", "h100"): [narrow.shape("float32", 256, 256)] * 2}
"""The smaller matrices of a program on a target whose compiler takes 16 seconds for the tile of a large matmul."""


def compile_programs(targets: tuple[str, ...] = PAIR, names: Iterable[str] = NAMES) -> dict[str, dict[str, Capture]]:
    """Compile programs of the gallery; return the captures by the program's name and the target without its topology.

    Raises:
        TargetUnavailableError: This machine cannot compile for one of the targets.
    """
    programs = {}
    for name in names:
        piece = PROGRAMS[name]
        captures = capture_all(piece.function, *piece.example, targets=piece.name_targets(targets), **piece.arguments)
        captures.require()
        programs[name] = gallery_matrix.strip_topologies(captures)
    return programs


def name_generator(kernel: Launch) -> str:
    """Return the origin of a kernel's code: `Triton`, a `library`, or XLA's own generator, `XLA`."""
    if kernel.kind in {"custom-call", "fft"}:
        return "library"
    return "Triton" if (custom_fusion_kind(kernel.instruction) or "").startswith("__triton") else "XLA"


def count_split(program: Capture) -> int:
    """Return the number of matmuls that the pass `splitk-rewriter` splits, each of which gains a dimension."""
    modules = [program.unoptimized_module, *(step.module for step in program.passes)]
    ranks = [sum(one.shape.rank for one in module.walk() if one.opcode == "dot") for module in modules]
    return sum(
        after - before
        for (before, after), step in zip(pairwise(ranks), program.passes, strict=True)
        if step.name == "splitk-rewriter"
    )


def show_programs(programs: Programs) -> str:
    """Return an HTML table of the programs: their kernels by origin on each target, and the matmuls that are split."""

    def describe(program: Capture) -> str:
        origins = Counter(map(name_generator, list_kernels(program)))
        parts = ", ".join(f"{number} {origin}" for origin, number in sorted(origins.items()))
        return f"<b>{origins.total()}</b>: {parts}"

    rows = [
        (
            f'<a href="../gallery/#{name}">{markdown.escape(PROGRAMS[name].title)}</a>',
            *(describe(by_target[target]) for target in PAIR),
            " and ".join(str(count_split(by_target[target])) for target in PAIR),
        )
        for name, by_target in programs.items()
    ]
    return markdown.cards(["program", *(f"kernels, {short(target)}" for target in PAIR), "split matmuls"], rows)


def list_other_counts(programs: Programs) -> list[str]:
    """Return the names of the programs with different numbers of kernels on the two GPUs."""
    return [name for name, by_target in programs.items() if len({len(list_kernels(by_target[t])) for t in PAIR}) > 1]


def check_split(programs: Programs) -> None:
    """Assert that split-K explains each difference in kernels except that of the convolutions, and which GPUs split.

    The pass runs on both GPUs. The MI300X has the splits of an A100, for which XLA's source has the same weights.
    """
    others = list_other_counts(programs)
    assert others == ["layer", "mlp", "block", "conv-step"]
    without = {"xla_disable_hlo_passes": "splitk-rewriter"}
    for name in others[:-1]:
        function, example = PROGRAMS[name].function, PROGRAMS[name].example
        assert count_split(programs[name]["h100"]) > count_split(programs[name]["mi300x"])
        assert count_split(programs[name]["mi300x"]) == count_split(capture(function, *example, target="a100"))
        assert "splitk-rewriter" in {run.name for run in programs[name]["mi300x"].runs}
        whole = capture_all(function, *example, targets=PAIR, options=dict.fromkeys(PAIR, without), passes=False)
        assert len({len(list_kernels(program)) for program in whole.values()}) == 1


def read_figure(target: str, field: str) -> int | None:
    """Return a figure of XLA's description of a GPU, or None if the description lacks it."""
    match = re.search(rf"^  {field}: (\d+)", read_spec(target), re.MULTILINE)
    return int(match[1]) if match else None


def show_figures() -> str:
    """Return a table of the figures in XLA's descriptions of the GPUs."""
    targets = ("h100", *AMD)

    def write(field: str, target: str) -> str:
        figure = read_figure(target, field)
        if figure is None:
            return "not stated"
        if "shared" in field or field == "device_memory_size":
            return markdown.size(figure)
        return f"{figure / 1e12:.2f} TB" if "bandwidth" in field else f"{figure:,}"

    rows = [(meaning, *(write(field, target) for target in targets)) for field, meaning in FIGURES.items()]
    return markdown.cards(["figure", *map(short, targets)], rows)


def draw_block(captures: Captures) -> str:
    """Return a drawing of one block of the softmax kernel on each GPU of the pair, a box for each warp or wave."""
    rows = {}
    for target in PAIR:
        (kernel,) = list_kernels(captures[target])
        assert kernel.thunk
        assert kernel.thunk.threads
        threads, width = kernel.thunk.threads[0], read_figure(target, "threads_per_warp") or 1
        kind = "wave" if target in AMD else "warp"
        rows[f"{short(target)}, {threads} threads"] = [StripBox(f"{kind} of {width}", kind)] * (threads // width)
    kinds = {"warp": "threads that an NVIDIA GPU schedules together", "wave": "the same on an AMD GPU"}
    return draw_strips(rows, kinds, "One block of the softmax kernel: as many groups on both GPUs, of different sizes.")


def require_plugin() -> Path:
    """Return the library of the compiler for AMD GPUs.

    Raises:
        TargetUnavailableError: It is not installed.
    """
    plugin, device = find_plugin("rocm"), find_target("mi300x")
    if device.obstacle or plugin is None:
        raise TargetUnavailableError(device.name, device.obstacle)
    return plugin


def count_with_registers(target: str = "mi250", like: str = "mi300x") -> int:
    """Return the number of softmax kernels if the description of a target also had the registers of another one."""
    import jax

    from xla_inspect import jax_private
    from xla_inspect.compilation import pin_options

    plugin, device = require_plugin(), find_target(target)
    registers = "".join(re.findall(r"^  registers_per_\w+: \d+\n", read_spec(like), re.MULTILINE))
    spec = read_spec(target).replace("  rocm_compute_capability", f"{registers}  rocm_compute_capability")
    device.devices()  # loads the libraries that the plugin needs
    name, platform, arguments = describe_topology(device, spec)
    (changed,) = jax_private.describe_devices(platform, plugin, name, arguments)
    place = jax.sharding.SingleDeviceSharding(changed)
    traced = jax.jit(softmax.softmax, in_shardings=place, out_shardings=place).trace(*softmax.EXAMPLE)
    options: Any = pin_options(device)
    text = traced.lower(lowering_platforms=(platform,)).compile(options).as_text()
    return sum(instruction.opcode == "fusion" for instruction in parse_module(text or "").entry)


def compile_products() -> dict[str, dict[str, Capture]]:
    """Compile each of `PRODUCTS` for the H100 and the AMD GPUs, for these with their assembly.

    Raises:
        TargetUnavailableError: This machine cannot compile for one of the targets.
    """
    return {
        name: {
            "h100": capture(function, *SMALLER.get((name, "h100"), example), target="h100"),
            **{target: capture(function, *example, target=target, machine=True, passes=False) for target in AMD},
        }
        for name, (function, example) in PRODUCTS.items()
    }


def allows_tma(program: Capture) -> bool:
    """Return whether XLA lets Triton use the H100's unit for copies of tiles in a program's first kernel."""
    configuration = json.loads(list_kernels(program)[0].instruction.backend_config or "{}")
    return bool(configuration["fusion_backend_config"]["block_level_fusion_config"]["is_tma_allowed"])


def list_needed_libraries() -> set[str]:
    """Return the libraries that the compiler for AMD GPUs is linked with, without `lib` and version."""
    from elftools.elf.elffile import ELFFile

    with require_plugin().open("rb") as file:
        section: Any = ELFFile(file).get_section_by_name(".dynamic")
        return {re.sub(r"^lib|[-.].*", "", tag.needed) for tag in section.iter_tags("DT_NEEDED")}


def list_matrix_instructions(program: Capture) -> list[str]:
    """Return the distinct matrix instructions of a GPU's kernels, sorted: those of PTX or of AMD's assembly."""
    assembly = "".join(code.text for code in program.code if code.language == "asm")
    return list_units(program) or sorted(set(re.findall(r"\bv_s?mfmac?_\w+", assembly)))


def show_products(products: Programs) -> str:
    """Return an HTML table of the matrix instructions of each matmul, by target."""
    rows = [
        (name, *("<br>".join(map(markdown.code, list_matrix_instructions(it))) or "none" for it in by_target.values()))
        for name, by_target in products.items()
    ]
    return markdown.cards(["matmul of", *(short(target) for target in next(iter(products.values())))], rows)


def name_kernels(targets: Iterable[str], captures: Mapping[str, Capture]) -> str:
    """Return an HTML table of the kernels of one program on each target, with their threads."""
    rows = [
        (title(target), markdown.code(kernel.name), f"{kernel.thunk.grid[0]:,}", f"{kernel.thunk.threads[0]:,}")
        for target in targets
        for kernel in list_kernels(captures[target])
        if kernel.thunk and kernel.thunk.grid and kernel.thunk.threads
    ]
    return markdown.cards(["GPU", "kernel", "blocks", "threads of a block"], rows)
