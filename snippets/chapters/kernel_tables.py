"""Tables of the hardware resources that kernels use: registers and occupancy on a GPU, vectors and loops on a CPU."""

from __future__ import annotations

import html
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.report import KernelListing, describe_kernels, format_bytes, markdown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture


def table_kernels(capture: Capture) -> str:
    """Return an HTML table of a program's GPU kernels, with their resources and occupancy of a multiprocessor.

    Args:
        capture: A capture with its machine code.
    """
    header = (
        "kernel and line",
        "registers",
        "spilled",
        "shared memory",
        "threads",
        "blocks",
        "occupancy",
        "limited by",
    )
    # A kernel without machine code has no resources to show.
    rows = [
        (
            f"{_code(kernel.name)} {_code(kernel.where)}",
            f"{kernel.resources.registers}",
            _bytes(kernel.resources.spilled),
            _bytes(kernel.shared),
            f"{kernel.block:,}",
            f"{kernel.grid or 0:,}",
            f"{kernel.occupancy.share:.0%}",
            ", ".join(kernel.occupancy.bound_by),
        )
        for kernel in describe_kernels(capture)
        if kernel.resources and kernel.occupancy
    ]
    return markdown.cards(header, rows)


def table_occupancy(programs: Mapping[str, Capture]) -> str:
    """Return an HTML table of programs on a GPU: the number of kernels, their registers and the lowest occupancy.

    Args:
        programs: The capture of each program, with its machine code, by the program's name.
    """
    header = ("program", "kernels", "registers", "spilling", "maximum shared memory", "lowest occupancy", "limited by")
    rows = []
    for label, capture in programs.items():
        kernels = [kernel for kernel in describe_kernels(capture) if kernel.resources and kernel.occupancy]
        if not kernels:
            continue
        counts = [kernel.resources.registers for kernel in kernels if kernel.resources]
        least = min(kernels, key=_share)
        rows.append(
            (
                html.escape(label),
                f"{len(kernels)}",
                f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}",
                f"{sum(bool(kernel.resources and kernel.resources.spilled) for kernel in kernels)}",
                _bytes(max(kernel.shared for kernel in kernels)),
                f"{_share(least):.0%}",
                # No resource limits a kernel that fills the multiprocessor, so the cell stays empty.
                ", ".join(least.occupancy.bound_by) if least.occupancy and _share(least) < 1 else "",
            )
        )
    return markdown.cards(header, rows)


def table_vectors(programs: Mapping[str, Capture]) -> str:
    """Return an HTML table of programs on the CPU: the number of kernels, vector widths and innermost loops."""
    header = ("program", "kernels", "vector width", "innermost loops", "vectorized", "spilling")
    rows = []
    for label, capture in programs.items():
        kernels = describe_kernels(capture)
        if not kernels:
            continue
        widths = Counter(kernel.width for kernel in kernels)
        inner = [loop for kernel in kernels for loop in kernel.innermost]
        rows.append(
            (
                html.escape(label),
                f"{len(kernels)}",
                ", ".join(
                    f"{width} bits in {number}" if width else f"none in {number}"
                    for width, number in sorted(widths.items())
                ),
                f"{len(inner)}",
                f"{sum(loop.is_vectorized for loop in inner)}",
                f"{sum(map(is_spilling, kernels))}",
            )
        )
    return markdown.cards(header, rows)


def count_bounds(programs: Mapping[str, Capture]) -> Counter[str]:
    """Return the number of kernels that each resource limits; `nothing` counts those that can fill a multiprocessor.

    Args:
        programs: The capture of each program, with its machine code, by the program's name.
    """
    return Counter(
        kernel.occupancy.bound_by[0] if kernel.occupancy.share < 1 else "nothing"
        for capture in programs.values()
        for kernel in describe_kernels(capture)
        if kernel.occupancy
    )


def is_spilling(kernel: KernelListing) -> bool:
    """Return whether LLVM reports that a CPU kernel spills values to the stack because it runs out of registers."""
    # LLVM also logs remarks about single loops, so only remarks about the whole function count.
    return any(" spills " in f" {remark} " and "in function" in remark for remark in kernel.remarks)


def _share(kernel: KernelListing) -> float:
    return kernel.occupancy.share if kernel.occupancy else 1.0


def _bytes(number: int) -> str:
    return format_bytes(number) if number else "none"


def _code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>" if text else ""
