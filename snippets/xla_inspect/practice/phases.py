"""The phases of the practice: what each is called, how long it takes, and where to read on."""

from __future__ import annotations

from dataclasses import dataclass

OPENXLA, JAX = "https://openxla.org", "https://docs.jax.dev/en/latest"


@dataclass(frozen=True, slots=True)
class Reference:
    """Where to read on.

    Attributes:
        title: What is there.
        address: Its address.
    """

    title: str
    address: str


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase.

    Attributes:
        name: Its short name, as `main --check` takes it.
        number: Its place, from 1.
        title: Its title.
        minutes: How long it takes.
        question: What it answers.
        references: Where to read on.
    """

    name: str
    number: int
    title: str
    minutes: int
    question: str
    references: tuple[Reference, ...]


_ALL = (
    Phase(
        "basics",
        1,
        "Basics",
        15,
        "How does one write a program that a compiler can take whole?",
        (
            Reference("JAX: arrays and jax.numpy", f"{JAX}/101/arrays.html"),
            Reference("JAX: transformations", f"{JAX}/101/transformations.html"),
            Reference("JAX: pytrees", f"{JAX}/101/pytrees.html"),
            Reference("JAX: just-in-time compilation", f"{JAX}/201/jit.html"),
            Reference("PyTorch: autograd mechanics", "https://docs.pytorch.org/docs/stable/notes/autograd.html"),
            Reference("PyTorch: torch.compile", "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"),
        ),
    ),
    Phase(
        "jaxpr",
        2,
        "Jaxpr",
        20,
        "What does JAX write down when it traces a function?",
        (
            Reference("JAX: the jaxpr language", f"{JAX}/601/jaxpr.html"),
            Reference("JAX: how transformations trace", f"{JAX}/101/transformations.html"),
            Reference("JAX: the operations of jax.lax", f"{JAX}/jax.lax.html"),
        ),
    ),
    Phase(
        "hlo",
        3,
        "HLO",
        25,
        "What does the compiler leave in its dump, and where in it are fusions, layouts and constants?",
        (
            Reference("XLA: HLO dumps", f"{OPENXLA}/xla/hlo_dumps"),
            Reference("XLA: operation semantics", f"{OPENXLA}/xla/operation_semantics"),
            Reference("XLA: shapes and layouts", f"{OPENXLA}/xla/shapes"),
            Reference("XLA: tiled layouts", f"{OPENXLA}/xla/tiled_layout"),
            Reference("XLA: flags", f"{OPENXLA}/xla/flags_guidance"),
        ),
    ),
    Phase(
        "optimization",
        4,
        "Optimization",
        20,
        "What did the compiler change, which pass did it, and how many kernels are left?",
        (
            Reference("XLA: architecture", f"{OPENXLA}/xla/architecture"),
            Reference("XLA: HLO passes", f"{OPENXLA}/xla/hlo_passes"),
            Reference("XLA: GPU architecture overview", f"{OPENXLA}/xla/gpu_architecture"),
            Reference(
                "XLA's source: algebraic simplifier",
                "https://github.com/openxla/xla/blob/main/xla/hlo/transforms/simplifiers/algebraic_simplifier.cc",
            ),
        ),
    ),
    Phase(
        "transforms",
        5,
        "Grad and vmap",
        15,
        "What do grad and vmap add to the jaxpr, and what to the kernels?",
        (
            Reference("JAX: transformations", f"{JAX}/101/transformations.html"),
            Reference("JAX: the autodiff cookbook", f"{JAX}/301/cookbook.html"),
            Reference("JAX: primitives and their rules", f"{JAX}/601/jax-primitives.html"),
        ),
    ),
)

PHASES: dict[str, Phase] = {phase.name: phase for phase in _ALL}
"""The phases by name, in order."""

PUZZLES, CAPSTONE = "puzzles", "capstone"
"""What `--check` calls the work after the phases: programs to score, and slow models to mend."""

CHECKED = (*PHASES, PUZZLES, CAPSTONE)
"""What `main --check` can be asked for, in order."""
