"""The platforms that JAX compiles for: their packages, and the words of the makers of GPUs, from a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence  # noqa: TC003
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xla_inspect.targets.table import find_entry


@dataclass(frozen=True)
class Terms:
    """A maker's words for the parts of its GPUs; the first two have a plural with `s`.

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
        libraries: The library behind a custom call, by the beginning of the call's name.
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
    libraries: Mapping[str, str] = field(default_factory=dict)

    def adapt(self, sentence: str) -> str:
        """Return a sentence about NVIDIA's GPUs or any hardware in the maker's words."""
        pattern = "|".join(map(re.escape, self.words))
        return re.sub(rf"\b(?:{pattern})\b", lambda match: self.words[match[0]], sentence) if pattern else sentence

    def name_library(self, call: str) -> str:
        """Return the library that a custom call runs if the call does not have its name, or an empty string."""
        return next((library for start, library in self.libraries.items() if call.startswith(start)), "")


@dataclass(frozen=True)
class Platform:
    """A platform.

    Attributes:
        packages: The packages that compile for it.
        readers: Further packages that it needs, whose versions do not affect the result.
        plugin: For GPUs, the path of the compiler's library among the files of its package.
        terms: For GPUs, the maker's words.
    """

    packages: Sequence[str]
    readers: Sequence[str] = ()
    plugin: str = ""
    terms: Terms = Terms()


def _read(entry: dict[str, Any]) -> Platform:
    return Platform(terms=Terms(**entry.pop("terms", {})), **entry)


PLATFORMS: Mapping[str, Platform] = {
    name: _read(entry)
    for name, entry in tomllib.loads(Path(__file__).with_name("platforms.toml").read_text(encoding="utf-8")).items()
}
"""The platforms by JAX's names: `cpu`, `cuda`, `rocm` and `tpu`."""


def find_terms(target: str) -> Terms:
    """Return the words of the maker of a target's hardware; for hardware other than GPUs, those of NVIDIA.

    Raises:
        InspectError: There is no such target.
    """
    platform = PLATFORMS.get(find_entry(target).platform)
    return platform.terms if platform else Terms()
