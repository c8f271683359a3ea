"""Inference apart from training: export the model once, then serve requests of any size from a few executables."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from programs import mlp, train_step

BUCKETS = (4, 16)
BATCHES = (1, 3, 10, 16)
COMPILED = "/jax/core/compile/backend_compile_duration"


def predict(p: train_step.Parameters, x: jax.Array) -> jax.Array:
    """Return the MLP's output for a batch, [batch, 256]."""
    return mlp.mlp(x, p["w1"], p["b1"], p["w2"], p["b2"])


def export_model() -> bytes:
    """Return the model as StableHLO for batches of any size, for three platforms."""
    (batch,) = export.symbolic_shape("batch")
    x = jax.ShapeDtypeStruct((batch, 512), jnp.float32)
    exported = export.export(jax.jit(predict), platforms=("cpu", "cuda", "tpu"))(train_step.EXAMPLE[0], x)
    return bytes(exported.serialize())


def choose(batch: int) -> int:
    """Return the smallest size of `BUCKETS` that a batch of this many rows fits in."""
    return min(size for size in BUCKETS if size >= batch)


class Server:
    """A model that answers requests with executables compiled when the object is created, and never later."""

    def __init__(self, blob: bytes, p: train_step.Parameters) -> None:
        """Load an exported model, and compile it for each size that a batch is padded to."""
        call = jax.jit(export.deserialize(bytearray(blob)).call)
        self.p = p
        self.compiled = {
            size: call.lower(p, jax.ShapeDtypeStruct((size, 512), jnp.float32)).compile() for size in BUCKETS
        }

    def answer(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs for a batch, padded with zeros to the smallest size that it fits in."""
        size = choose(len(x))
        padded = np.pad(x, ((0, size - len(x)), (0, 0)))
        return np.asarray(self.compiled[size](self.p, padded))[: len(x)]


def served() -> dict[str, object]:
    """Return facts about the export, and for four batches the padded size, the output shape and the relative error."""
    blob = export_model()
    exported = export.deserialize(bytearray(blob))
    p = jax.tree.map(lambda leaf: jnp.full(leaf.shape, 0.01, leaf.dtype), train_step.EXAMPLE[0])
    server = Server(blob, p)
    expected = {size: np.asarray(predict(p, jnp.ones((size, 512)))) for size in BATCHES}
    compiled: list[str] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        del duration_secs
        compiled.extend([event] * (event == COMPILED))

    jax.monitoring.register_event_duration_secs_listener(listen)
    answers = {size: server.answer(np.ones((size, 512), np.float32)) for size in BATCHES}
    jax.monitoring.unregister_event_duration_listener(listen)
    return {
        "smaller than the parameters": len(blob) < sum(leaf.nbytes for leaf in p.values()),
        "platforms": exported.platforms,
        "batch": str(exported.in_avals[-1].shape),
        "compiles": len(compiled),
        "answers": [
            (size, choose(size), str(answer.shape), float(abs(answer / expected[size] - 1).max()))
            for size, answer in answers.items()
        ],
    }


if __name__ == "__main__":
    print(served())
