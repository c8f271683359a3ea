"""The words of each maker of GPUs for the parts of its hardware and for its libraries."""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass, field

from xla_inspect.targets.table import find_entry


@dataclass(frozen=True)
class Terms:
    """The maker's words; the first two have a plural with `s`.

    Attributes:
        wave: The group of threads that run in step.
        core: The part of the GPU to which a block is assigned.
        registers: The registers of a thread.
        shared: The memory that the threads of a block share.
        matrix: The units that multiply matrices.
        vector: The ordinary arithmetic units.
        fills: The number of times that the blocks of a launch fill the GPU.
        note: A sentence about the words for readers who know those of NVIDIA, or an empty string.
        words: The words for those of NVIDIA in a sentence.
    """

    wave: str = "warp"
    core: str = "multiprocessor"
    registers: str = "registers"
    shared: str = "shared memory"
    matrix: str = "tensor cores"
    vector: str = "CUDA cores"
    fills: str = "waves"
    note: str = ""
    words: Mapping[str, str] = field(default_factory=dict)

    def adapt(self, sentence: str) -> str:
        """Return a sentence about NVIDIA's GPUs or any hardware in the maker's words."""
        pattern = "|".join(map(re.escape, self.words))
        return re.sub(rf"\b(?:{pattern})\b", lambda match: self.words[match[0]], sentence) if pattern else sentence


NVIDIA = Terms()
"""NVIDIA's words."""

AMD = Terms(
    "wave",
    "compute unit",
    "VGPRs",
    "LDS",
    "matrix cores",
    "vector units",
    "fills",
    "On an AMD GPU, 64 threads run in step as a wave, which has the role of a warp. A compute unit has the role of a "
    "multiprocessor, its LDS (local data share) that of shared memory, and its matrix cores, which run MFMA "
    "instructions, that of tensor cores. A block is a workgroup. A VGPR holds a number for each thread of a wave. XLA "
    "uses no unit that copies tiles by itself, as TMA does on an H100.",
    {
        "warps": "waves",
        "warp": "wave",
        "shared memory": "LDS",
        "tensor cores": "matrix cores",
        "cuBLASLt": "hipBLASLt",
        "cuBLAS": "hipBLASLt or rocBLAS",
        "cuDNN": "MIOpen",
        "cuSOLVER": "hipSOLVER",
        "NCCL": "RCCL",
    },
)
"""AMD's words."""


def find_terms(target: str) -> Terms:
    """Return the words of the maker of a target: AMD's for its GPUs, and otherwise NVIDIA's.

    Raises:
        InspectError: There is no such target.
    """
    return AMD if find_entry(target).platform == "rocm" else NVIDIA
