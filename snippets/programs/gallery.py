"""Twenty-two programs with titles, from one dense layer to a training step on eight devices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from programs import (
    attention,
    attention_long,
    cholesky_solve,
    control_flow,
    conv_step,
    filtered,
    fusible,
    gelu,
    layer,
    layernorm,
    mlp,
    noise,
    ranked,
    rnn,
    scatter_update,
    softmax,
    train_step,
    transformer_block,
    transformer_block_grad,
)
from xla_inspect.targets import TARGETS, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True)
class Piece:
    """A program of the gallery.

    Attributes:
        title: The name that readers see.
        function: The function.
        example: The shapes of the arguments that it is compiled for.
        arguments: Further arguments of `capture`: mesh, shardings and donated arguments.
        devices: How many devices it runs on.
    """

    title: str
    function: Callable[..., Any]
    example: tuple[Any, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    devices: int = 1

    def name_targets(self, targets: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the names of targets, each with a topology of `devices` devices if that is more than one.

        Args:
            targets: Short names of targets, by default `GALLERY_TARGETS`.
        """
        return tuple(place(name, self.devices) for name in targets or GALLERY_TARGETS)


GALLERY_TARGETS = tuple(name for name in TARGETS if name not in {"mi250", "mi350x"})
"""The targets of the gallery: all but two of AMD's, so that a build compiles each program for one GPU of AMD."""

_IN_PARALLEL = {"mesh": {"x": 8}, "specs": train_step.SHARDINGS["data"], "donate_argnums": 0}

PROGRAMS: Mapping[str, Piece] = {
    "layer": Piece("relu(x @ w + b)", layer.layer, layer.EXAMPLE),
    "mlp": Piece("MLP", mlp.mlp, mlp.EXAMPLE),
    "mlp-step": Piece("MLP, training step", train_step.train_step, train_step.EXAMPLE),
    "gelu": Piece("GELU", gelu.gelu, gelu.EXAMPLE),
    "softmax": Piece("Softmax", softmax.softmax, softmax.EXAMPLE),
    "scale-softmax": Piece("Scale and softmax", *fusible.PROGRAMS["scale and softmax"]),
    "layernorm": Piece("Layer norm", layernorm.layernorm, layernorm.EXAMPLE),
    "standardize": Piece("(x - mean) / std", *fusible.PROGRAMS["(x - mean) / std"]),
    "attention": Piece("Attention", attention.attention, attention.EXAMPLE),
    "attention-long": Piece("Attention over 2,048 positions", attention_long.attention_long, attention_long.EXAMPLE),
    "block": Piece("Transformer block", transformer_block.transformer_block, transformer_block.EXAMPLE),
    "block-grad": Piece(
        "Transformer block, gradient", transformer_block_grad.transformer_block_grad, transformer_block_grad.EXAMPLE
    ),
    "conv-step": Piece("Conv net, training step", conv_step.conv_step, conv_step.EXAMPLE),
    "rnn": Piece("RNN by a scan", rnn.rnn, rnn.EXAMPLE),
    "while": Piece("While loop", *control_flow.PROGRAMS["while_loop"]),
    "cond": Piece("Cond", *control_flow.PROGRAMS["cond"]),
    "scatter": Piece("Scatter update", scatter_update.scatter_update, scatter_update.EXAMPLE),
    "ranked": Piece("Sort and top-k", ranked.ranked, ranked.EXAMPLE),
    "fft": Piece("FFT and back", filtered.filtered, filtered.EXAMPLE),
    "cholesky": Piece("Cholesky solve", cholesky_solve.cholesky_solve, cholesky_solve.EXAMPLE),
    "random": Piece("Random normal", noise.noise, noise.EXAMPLE),
    "parallel": Piece(
        "MLP step, data-parallel", train_step.train_step, train_step.EXAMPLE, arguments=_IN_PARALLEL, devices=8
    ),
}
"""The programs, by their names in links."""

if __name__ == "__main__":
    for name, piece in PROGRAMS.items():
        print(f"{name:<14}{piece.title:<30}{piece.function.__name__}")
