"""The phases of the practice: their titles, times, questions and references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

OPENXLA, JAX = "https://openxla.org", "https://docs.jax.dev/en/latest"


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase.

    Attributes:
        name: Its short name, as in `main --check`.
        number: Its number, from 1.
        title: Its title.
        minutes: The time that it takes.
        question: The question that it answers.
        references: The addresses of further reading, by title.
    """

    name: str
    number: int
    title: str
    minutes: int
    question: str
    references: Mapping[str, str]


_ALL = (
    Phase(
        "basics",
        1,
        "Write for a compiler",
        15,
        "How do you write a program that a compiler can compile as a whole?",
        {
            "JAX: arrays and jax.numpy": f"{JAX}/101/arrays.html",
            "JAX: transformations": f"{JAX}/101/transformations.html",
            "JAX: pytrees": f"{JAX}/101/pytrees.html",
            "JAX: just-in-time compilation": f"{JAX}/201/jit.html",
            "PyTorch: autograd mechanics": "https://docs.pytorch.org/docs/stable/notes/autograd.html",
            "PyTorch: torch.compile": "https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
        },
    ),
    Phase(
        "jaxpr",
        2,
        "Read your jaxpr",
        20,
        "What does JAX record when it traces a function?",
        {
            "JAX: the jaxpr language": f"{JAX}/601/jaxpr.html",
            "JAX: how transformations trace": f"{JAX}/101/transformations.html",
            "JAX: the operations of jax.lax": f"{JAX}/jax.lax.html",
        },
    ),
    Phase(
        "hlo",
        3,
        "Dump and read HLO",
        25,
        "What does the compiler write into its dump, and where are the fusions, layouts and constants?",
        {
            "XLA: HLO dumps": f"{OPENXLA}/xla/hlo_dumps",
            "XLA: operation semantics": f"{OPENXLA}/xla/operation_semantics",
            "XLA: shapes and layouts": f"{OPENXLA}/xla/shapes",
            "XLA: tiled layouts": f"{OPENXLA}/xla/tiled_layout",
            "XLA: flags": f"{OPENXLA}/xla/flags_guidance",
        },
    ),
    Phase(
        "optimization",
        4,
        "Follow the passes",
        20,
        "What does the compiler change, which pass does it, and how many kernels remain?",
        {
            "XLA: architecture": f"{OPENXLA}/xla/architecture",
            "XLA: HLO passes": f"{OPENXLA}/xla/hlo_passes",
            "XLA: GPU architecture overview": f"{OPENXLA}/xla/gpu_architecture",
            "XLA's source: algebraic simplifier": "https://github.com/openxla/xla/blob/main/xla/hlo/transforms/simplifiers/algebraic_simplifier.cc",
        },
    ),
    Phase(
        "transforms",
        5,
        "What grad and vmap add",
        15,
        "What do grad and vmap add to the jaxpr and to the kernels?",
        {
            "JAX: transformations": f"{JAX}/101/transformations.html",
            "JAX: the autodiff cookbook": f"{JAX}/301/cookbook.html",
            "JAX: primitives and their rules": f"{JAX}/601/jax-primitives.html",
        },
    ),
)

PHASES: dict[str, Phase] = {phase.name: phase for phase in _ALL}
"""The phases by name, in order."""

PUZZLES, CAPSTONE = "puzzles", "capstone"
"""The names in `--check` of the work after the phases: programs to score, and slow models to fix."""

CHECKED = (*PHASES, PUZZLES, CAPSTONE)
"""The names that `main --check` accepts, in order."""
