"""The files of a dump folder, and what each is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# What stands in front of a file's own name: the module's number and name, and on a TPU the compiler's version.
_FRONT = re.compile(r"^module_\d+\.(?:(?!metadata\.)[^.]*\.(?:cl_\d+\.)?)?")
_METADATA = re.compile(r"^module_\d+\.metadata\.textproto$")

_KINDS: tuple[tuple[str, str, str], ...] = (
    (r"\d{4,}\..*\.txt", "passes", "the module after a pass that changed it, or at the start of a pipeline, in order"),
    (r"before_optimizations\.txt", "start", "HLO as the compiler got it: start reading here"),
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
    (r"basic_compiler_metadata\.txt", "settings", "the version of the TPU's compiler"),
    (r"transfer_stats\.txt", "memory", "how much is moved to and from the host"),
    (r"after_spmd_partitioner\.txt", "passes", "the module once it is divided over devices"),
    (r"before_config_assignment\.txt", "passes", "the module before kernels are given their tiles"),
)
_PATTERNS = tuple((re.compile(pattern), group, said) for pattern, group, said in _KINDS)

GROUPS = {
    "start": "Start here",
    "passes": "Between the passes",
    "memory": "Memory",
    "kernels": "Kernels",
    "code": "Code",
    "settings": "Settings",
    "other": "Other",
}
"""What the groups of files are called, in the order in which to read them."""


@dataclass(frozen=True, slots=True)
class Dumped:
    """A file of a dump folder.

    Attributes:
        path: Where it is.
        group: One of `GROUPS`.
        said: What it is.
        bytes: Its size.
    """

    path: Path
    group: str
    said: str
    bytes: int


def list_files(folder: Path) -> list[Dumped]:
    """Return the files of a dump folder with what each is, by group and sort, in the order of their names."""
    found = [describe(path) for path in sorted(folder.iterdir()) if path.is_file()]
    groups, kinds = list(GROUPS), [said for _, _, said in _KINDS]
    order = {said: number for number, said in reversed([*enumerate(kinds)])}
    return sorted(found, key=lambda file: (groups.index(file.group), order.get(file.said, len(order))))


def describe(path: Path) -> Dumped:
    """Return what a file of a dump folder is."""
    if _METADATA.match(path.name):
        return Dumped(
            path, "passes", "every run of a pass: its name, its time, and whether it changed the module", _size(path)
        )
    name = _FRONT.sub("", path.name)
    for pattern, group, said in _PATTERNS:
        if pattern.fullmatch(name):
            return Dumped(path, group, said, _size(path))
    return Dumped(path, "other", "nothing that this practice knows", _size(path))


def total(files: Iterable[Dumped]) -> int:
    """Return the bytes of files together."""
    return sum(file.bytes for file in files)


def _size(path: Path) -> int:
    return path.stat().st_size


def shorten(name: str) -> str:
    """Return a file's name without the number and the name of its module, and a TPU compiler's version."""
    return _FRONT.sub("", name)
