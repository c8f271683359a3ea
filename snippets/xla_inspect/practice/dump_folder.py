"""The files of a dump folder with their descriptions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.dumps import PASS, strip_front

if TYPE_CHECKING:
    from pathlib import Path

_UNKNOWN = ("other", "nothing that this practice knows")

_KINDS: tuple[tuple[str, str, str], ...] = (
    (r"\d{4,}\..*\.txt", "passes", "the module after a pass that changed it, or where a pipeline starts, in order"),
    (r"before_optimizations\.txt", "start", "the compiler's input: start reading here"),
    (r".*after_optimizations\.txt", "start", "optimized HLO: what was compiled to code; read its ENTRY next"),
    (r".*after_optimizations-buffer-assignment\.txt", "memory", "which value lives in which piece of memory"),
    (r".*after_optimizations-buffer-assignment-values\.txt", "memory", "each value, and where it is made and used"),
    (r".*after_optimizations-live-range\.txt", "memory", "from when to when each value is needed"),
    (r".*after_optimizations-memory-usage-report\.txt", "memory", "the largest pieces of memory first"),
    (r".*(?:before|after)_buffer_assignment\.txt", "memory", "the module around buffer assignment"),
    (r"thunk_sequence\.txt", "kernels", "what is launched, in order, with blocks and threads"),
    (r"thunk_metadata\.txt", "kernels", "which instruction each launch belongs to"),
    (
        r"priority_fusion_dump\.txt",
        "kernels",
        "the fusion cost model's log: each step with its estimate, and each refusal",
    ),
    (r".*ir-no-opt\.ll", "code", "LLVM IR of a kernel as XLA wrote it"),
    (r".*ir-with-opt\.ll", "code", "the same after LLVM's own passes"),
    (r".*before_validation\.ttir\.txt", "code", "Triton's IR of a kernel before it is checked"),
    (r".*\.ttir\.txt", "code", "Triton's IR of a kernel"),
    (r".*\.ptx", "code", "PTX, NVIDIA's assembly for any of its GPUs"),
    (r"(?:.*\.)?obj-file\..*\.o", "code", "machine code of a kernel, an ELF file: objdump -d shows it"),
    (r".*\.hlo", "code", "the HLO of one fusion, as its emitter got it"),
    (r"after_codegen\.txt", "code", "the module after code was made for it"),
    (r"debug_options", "settings", "XLA's flags that differ from their defaults"),
    (r"(?:config\.pbtxt|hlo_module_config\.txt|execution_options\.txt)", "settings", "how this module is compiled"),
    (r"(?:gpu_target_config\.pbtxt|target_arguments\.txt)", "settings", "the device it is compiled for"),
    (r"autotune_results\.pbtxt", "settings", "what autotuning chose; empty where it is off"),
    (r"(?:flagfile|tpu_comp_env\.txt)", "settings", "the TPU compiler's own flags"),
    (r"basic_compiler_metadata\.txt", "settings", "the name and the size of the module, in brief"),
    (r"transfer_stats\.txt", "memory", "how much is moved to and from the host"),
    (r"metadata\.textproto", "passes", "every run of a pass: its name, its time, and whether it changed the module"),
    (r"after_spmd_partitioner\.txt", "passes", "the module once it is divided over devices"),
    (r"before_config_assignment\.txt", "passes", "the module before kernels are given their tiles"),
)
_PATTERNS = tuple((re.compile(pattern), group, sort) for pattern, group, sort in _KINDS)

GROUPS = {
    "start": "Start here",
    "passes": "Between the passes",
    "memory": "Memory",
    "kernels": "Kernels",
    "code": "Code",
    "settings": "Settings",
    "other": "Other",
}
"""The names of the groups of files, in a sensible reading order."""


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file of a dump folder.

    Attributes:
        path: The file's path.
        group: One of `GROUPS`.
        sort: The description of files of this sort.
        said: The description of this file: for a module between two passes the pass before it, otherwise `sort`.
        bytes: The file's size.
    """

    path: Path
    group: str
    sort: str
    said: str
    bytes: int


def list_dump_files(folder: Path) -> list[DumpFile]:
    """Return the described files of a dump folder, sorted by group, sort and name."""
    files = [describe_dump_file(path) for path in sorted(folder.iterdir()) if path.is_file()]
    groups, kinds = list(GROUPS), [sort for _, _, sort in _KINDS]
    # In reverse order, the first of several patterns with the same description decides its position.
    order = {sort: number for number, sort in reversed([*enumerate(kinds)])}
    return sorted(files, key=lambda file: (groups.index(file.group), order.get(file.sort, len(order))))


def describe_dump_file(path: Path) -> DumpFile:
    """Return the description of a file in a dump folder."""
    # XLA puts the number and the name of the module in front of each file's name.
    name = strip_front(path.name)
    group_and_sort = next(((group, sort) for pattern, group, sort in _PATTERNS if pattern.fullmatch(name)), _UNKNOWN)
    return DumpFile(path, *group_and_sort, _name_pass(name) or group_and_sort[1], path.stat().st_size)


def _name_pass(name: str) -> str:
    """Return a text such as `after dce, in simplification` for a module between passes, or "" for any other file."""
    match = PASS.fullmatch(name)
    if match is None or match["name"] is None:
        return ""
    if match["name"] == "pipeline-start":
        return f"where the pipeline {match['pipeline']} starts"
    return f"after {match['name']}, in {match['pipeline']}"
