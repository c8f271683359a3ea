"""Texts, tables and checks of the page about the code below HLO."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chapters import code_anatomy, matrix_units
from programs import attention, layer
from xla_inspect import capture, capture_all
from xla_inspect.analysis import list_kernels
from xla_inspect.analysis.bundles import read_below
from xla_inspect.plural import plural
from xla_inspect.report import KernelListing, describe_kernels, markdown, title

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    import jax

    from xla_inspect.analysis.bundles import BundledKernel
    from xla_inspect.analysis.reasons import Decision
    from xla_inspect.captured import Capture, Captures

STEPS = {
    "triton": ("Triton IR", "Written by XLA for a matmul: the work of one block of threads on one tile"),
    "llvm-unoptimized": ("LLVM IR", "Written by XLA's emitters or Triton, before LLVM's passes"),
    "llvm": ("LLVM IR, optimized", "Written by LLVM, which unrolls loops, and vectorizes them on the CPU"),
    "ptx": ("PTX", "Written by LLVM: NVIDIA's virtual instruction set, with an unlimited number of registers"),
    "sass": ("SASS", "Written by NVIDIA's assembler <code>ptxas</code>: the instructions that this GPU runs"),
    "asm": ("x86 assembly", "Written by LLVM: the instructions that this family of processors runs"),
}
"""For each language below HLO: its name, and a sentence about its author and content."""


def compile_precision(precision: str) -> Captures:
    """Compile the dense layer, with a given precision of its matmul, to machine code for the usual targets."""
    import jax.numpy as jnp

    def multiplied(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.maximum(jnp.matmul(x, w, precision=precision) + b, 0.0)

    return capture_all(multiplied, *layer.EXAMPLE, machine=True, passes=False)


def join_code(capture: Capture, language: str) -> str:
    """Return the code of all kernels in one language, such as `sass`, joined; it is empty if there is none."""
    return "".join(piece.text for piece in capture.code if piece.language == language)


def find_code(capture: Capture, language: str, kernel: str = "") -> str:
    """Return the code, in one language, of the first kernel whose name contains a text."""
    return next(piece.text for piece in capture.code if piece.language == language and kernel in piece.kernel)


def find_first_line(text: str, pattern: str) -> str:
    """Return the first line that matches a regular expression."""
    return next(line for line in text.splitlines() if re.search(pattern, line))


def list_multiplications(capture: Capture) -> list[str]:
    """Return the distinct names of the matrix instructions in a GPU's machine code, sorted."""
    return sorted(set(re.findall(r"\b[A-Z]*MMA\.[\w.]+", join_code(capture, "sass"))))


def count_cores(capture: Capture) -> int:
    """Return the number of tensor-core instructions in a GPU's machine code."""
    return sum(kernel.mix.counts.get("tensor cores", 0) for kernel in describe_kernels(capture) if kernel.mix)


def count_streams(capture: Capture) -> Counter[str]:
    """Return the number of operations in the code that send rows through a TPU's matrix units, by element type.

    The body of a loop counts once.
    """
    return matrix_units.count_types(capture, "vmatmul")


def find_kernel(capture: Capture) -> BundledKernel:
    """Return the first kernel of a TPU's program."""
    return next(kernel for kernel in read_below(capture) if kernel.is_kernel)


def check_case(one: Captures, highest: Captures) -> None:
    """Assert that H100 and TPU multiply the layer's float32 values in narrower types by default.

    With the highest precision, the H100 uses no tensor cores, and the TPU needs over four times as many operations.
    """
    one.require()
    for program in one.values():
        entry = program.unoptimized_module.entry
        operands = [name for instruction in entry if instruction.opcode == "dot" for name in instruction.operands]
        assert {entry.by_name[name].shape.dtype for name in operands} == {"f32"}
    assert list_multiplications(one["h100"]) == ["HGMMA.64x16x8.F32.TF32"]
    assert set(count_streams(one["tpu-v5e"])) == {"bf16"}
    assert count_cores(one["h100"]) > count_cores(highest["h100"]) == 0
    assert count_streams(highest["tpu-v5e"]).total() > 4 * count_streams(one["tpu-v5e"]).total()


def show_forms(capture: Capture) -> str:
    """Return an HTML table of the languages below HLO in one capture, with the author and the length of each text."""
    rows = []
    for language, (name, author) in STEPS.items():
        texts = [piece for piece in capture.code if piece.language == language]
        if texts:
            rows.append((name, author, ", ".join(plural(len(piece.text.splitlines()), "line") for piece in texts)))
    for kernel in filter(lambda kernel: kernel.is_kernel, read_below(capture)):
        first, last = kernel.stages[0].instructions, kernel.stages[-2].instructions
        steps = f"Written by libtpu, Google's TPU compiler, which runs {plural(len(kernel.stages), 'step')} on it"
        length = f"{first:,} instructions at first, {last or first:,} at the end"
        rows.append(("Low-level operations (LLO)", steps, length))
        author = "Written by libtpu: groups of operations that are issued together, in the order of issue"
        rows.append(("Bundles", author, f"{kernel.size:,} bundles"))
    return markdown.cards(["language", "author and content", "length for each kernel"], rows)


def check_forms(one: Captures) -> None:
    """Assert the languages of the layer's code on each target, and for how many of its kernels XLA generates code."""
    one.require()
    languages = {target: {piece.language for piece in program.code} for target, program in one.items()}
    assert languages["h100"] == {"triton", "llvm-unoptimized", "llvm", "ptx", "sass"}
    assert languages["cpu"] == {"llvm-unoptimized", "llvm", "asm"}
    library, loop = list_kernels(one["cpu"])
    # A library computes the matmul, so XLA generates code only for the loop.
    assert [kernel.launches for kernel in describe_kernels(one["cpu"])] == [(loop.name,)]
    assert library.instruction
    assert "__ynn_fusion" in library.instruction.text
    assert len([kernel for kernel in read_below(one["tpu-v5e"]) if kernel.is_kernel]) == 1


def show_lines(h100: Capture, cpu: Capture) -> str:
    """Return tabs, one per language, with a line that multiplies matrices, a line that adds the bias, or both."""
    ptx, sass = (
        (find_code(h100, language, "dot"), find_code(h100, language, "maximum")) for language in ("ptx", "sass")
    )
    # PTX wraps this instruction over several lines, so it is matched up to its semicolon.
    (warp, *_) = re.findall(r"wgmma\.mma_async[^;]*;", ptx[0])
    lines = {
        "Triton": ("triton", [find_first_line(find_code(h100, "triton"), r"tt\.dot")]),
        "PTX": ("ptx", [" ".join(warp.split()), _find_bias(ptx[1], r"add\.rn\.f32", r"max\.NaN")]),
        "SASS": ("sass", [find_first_line(sass[0], r"\bHGMMA"), _find_bias(sass[1], r"\bFADD", r"\bFMNMX")]),
        "LLVM IR": ("llvm", [find_first_line(find_code(cpu, "llvm"), r"fadd .*<\d+ x float>")]),
        "x86": ("asm", [find_first_line(find_code(cpu, "asm"), r"vaddps .*ptr")]),
    }
    return markdown.tabs(
        {
            name: "\n\n".join(code_anatomy.annotate_code(language, line) for line in listing)
            for name, (language, listing) in lines.items()
        }
    )


def _find_bias(text: str, addition: str, relu: str) -> str:
    """Return the last line that matches the regular expression `addition` before the first match of `relu`."""
    # The split cuts the line that contains the relu, so the rest of that line is dropped.
    before = re.split(relu, text, maxsplit=1)[0].rpartition("\n")[0]
    return [line for line in before.splitlines() if re.search(addition, line)][-1]


def find_remark(kernel: KernelListing, decisions: Sequence[Decision]) -> Decision:
    """Return the most informative of LLVM's remarks about the vectorization of a kernel."""
    verdict = "done" if kernel.width else "refused"
    own = [decision for decision in decisions if decision.instruction in kernel.launches]
    # LLVM logs several remarks about a kernel; those about vectors with the kernel's own verdict explain the most.
    return min(own, key=lambda decision: (decision.verdict != verdict, "vector" not in decision.words))


def show_remarks(kernels: Sequence[KernelListing], decisions: Sequence[Decision]) -> str:
    """Return an HTML table of the CPU's kernels: their source lines, vector widths in bits, and LLVM's remarks."""
    rows = [
        (
            markdown.code(kernel.name),
            kernel.where.rpartition(":")[2],
            f"{kernel.width} bits" if kernel.width else "none",
            markdown.code(find_remark(kernel, decisions).words),
        )
        for kernel in kernels
    ]
    return markdown.cards(["kernel", "line", "vector width", "LLVM's remark"], rows)


def check_vectors(
    plain: Sequence[KernelListing], decisions: Sequence[Decision], vectors: Mapping[str, Capture]
) -> None:
    """Assert that LLVM sees no gain in vectorizing two kernels of attention, but vectorizes loops over longer rows.

    Args:
        plain: The kernels of attention that are not vectorized.
        decisions: LLVM's decisions about vectorization in attention.
        vectors: Programs on the CPU, by name.
    """
    assert len(plain) == 2
    turns = f"completely unrolled loop with {attention.EXAMPLE[0].shape[1]} iterations"
    for kernel in plain:
        assert "not beneficial" in find_remark(kernel, decisions).words
        # Remarks are in the order in which LLVM works, so their places show which of its passes ran first.
        unrolled, weighed = (
            next(place for place, words in enumerate(kernel.remarks) if remark in words)
            for remark in (turns, "vectorization is not beneficial")
        )
        assert unrolled < weighed
    for name in ("MLP", "Softmax"):
        inner = [loop for kernel in describe_kernels(vectors[name]) for loop in kernel.innermost]
        assert inner
        assert all(loop.is_vectorized for loop in inner)


def check_widths(capture: Capture, kernels: Sequence[KernelListing], decisions: Sequence[Decision]) -> None:
    """Assert that a kernel's vector width is LLVM's vectorization width in bits, even if most registers are narrower.

    The arguments are the capture of attention on the CPU with LLVM's remarks, its kernels, and LLVM's decisions.
    """
    for kernel in kernels:
        elements = re.search(r"vectorization width: (\d+)", find_remark(kernel, decisions).words)
        assert kernel.width == (32 * int(elements[1]) if elements else 0)
    (mixed,) = (kernel for kernel in kernels if kernel.vectors and 0 < kernel.vectors.width < kernel.width)
    code = next(piece.text for piece in capture.code if piece.language == "asm" and f"{mixed.name}:" in piece.text)
    registers = {name: set(re.findall(rf"\b{name} +(.mm)", code)) for name in ("vinsertps", "vaddps", "vdivps")}
    assert (mixed.name, registers) == (
        "reduce_divide_fusion",
        {"vinsertps": {"xmm"}, "vaddps": {"ymm"}, "vdivps": {"ymm"}},
    )


def check_order(kernel: BundledKernel) -> None:
    """Assert the order in which a TPU kernel's units start, its transfers, and that all four matrix units have work."""
    first, *later = (
        min(bundle.address for bundle in kernel.bundles if bundle.units.get(unit))
        for unit in ("dma", "push", "matmul", "pop", "store")
    )
    # The set drops equal addresses, so the comparison also proves that no two units start together.
    assert [first, *later] == sorted({first, *later})
    slots = [slot for bundle in kernel.bundles for slot in bundle.slots]
    names = [slot.operation for slot in slots]
    assert (names.count("dma.hbm_to_vmem"), names.count("dma.vmem_to_hbm")) == (2, 1)
    assert "inlined_call_operand.vmem [shape: f32[128,256]" in kernel.low.bundles
    assert {slot.number for slot in slots if slot.unit == "matmul"} == {0, 1, 2, 3}
    assert kernel.utilization
    assert kernel.utilization.slots["MATMUL"] == 4


def show_price(target: str, precisions: Mapping[str, Captures]) -> str:
    """Return a Markdown table of the layer's instruction counts in each precision, on the H100 or a TPU.

    For a TPU, the table also has the number of bundles and the compiler's estimate of the cycles.
    """
    captures = {markdown.code(name): program[target] for name, program in precisions.items()}
    if target == "h100":
        return markdown.table(
            ["precision", "tensor-core instructions", "multiply-adds (FFMA)"],
            [
                (name, count_cores(program), len(re.findall(r"\bFFMA\b", join_code(program, "sass"))))
                for name, program in captures.items()
            ],
            numbers=(1, 2),
        )
    rows = []
    for name, program in captures.items():
        kernel, streams = find_kernel(program), count_streams(program)
        rows.append((name, streams.total(), ", ".join(sorted(streams)), kernel.size, kernel.cycles))
    header = ["precision", "operations in the matrix units", "type of rows", "bundles", "estimated cycles"]
    return markdown.table(header, rows, numbers=(1, 3, 4))


def show_multiplications(captures: Captures) -> str:
    """Return a Markdown table of the matrix instructions in each GPU's code, with their number."""
    rows = [
        (title(target), ", ".join(map(markdown.code, list_multiplications(program))), count_cores(program))
        for target, program in captures.items()
    ]
    return markdown.table(["target", "matrix instruction", "occurrences in the code"], rows, numbers=(2,))


def compile_batch(rows: int) -> BundledKernel:
    """Compile the layer for the TPU v5e with a batch of `rows` rows, and return its first kernel."""
    import jax

    x, *rest = layer.EXAMPLE
    example = jax.ShapeDtypeStruct((rows, x.shape[1]), x.dtype)
    return find_kernel(capture(layer.layer, example, *rest, target="tpu-v5e", machine=True, passes=False))


def list_widths(positions: int) -> list[int]:
    """Compile attention for the CPU with a number of positions, and return the vector width of each kernel in bits."""
    import jax

    x, *rest = attention.EXAMPLE
    example = jax.ShapeDtypeStruct((x.shape[0], positions, x.shape[2]), x.dtype)
    program = capture(attention.attention, example, *rest, target="cpu", machine=True, passes=False)
    return [kernel.width for kernel in describe_kernels(program)]
