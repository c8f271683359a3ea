"""A data-parallel training script with a mesh, a changing learning rate and a checkpoint."""

import pickle
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
whole, spread = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))


@partial(jax.tree_util.register_dataclass)
@dataclass
class TrainState:
    step: jax.Array
    params: dict
    moments: dict


class Trainer:
    def __init__(self, steps):
        self.steps = steps
        self.train_step = jax.jit(self._train_step, donate_argnums=0, static_argnums=2)

    def create(self, key):
        params = {"w": jax.random.normal(key, (16, 16)), "b": jnp.zeros(16)}
        return TrainState(jnp.zeros((), jnp.int32), params, jax.tree.map(jnp.zeros_like, params))

    def _train_step(self, state, batch, rate):
        def loss_fn(params):
            return jnp.mean((jnp.tanh(batch["x"] @ params["w"] + params["b"]) - batch["y"]) ** 2)

        loss, grads = jax.value_and_grad(loss_fn)(state.params)
        moments = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.moments, grads)
        params = jax.tree.map(lambda p, m: p - rate * m, state.params, moments)
        return replace(state, step=state.step + 1, params=params, moments=moments), loss

    def run(self):
        state = jax.device_put(self.create(jax.random.key(0)), whole)
        for step in range(self.steps):
            batch = jax.device_put({"x": jnp.ones((32, 16)), "y": jnp.zeros((32, 16))}, spread)
            state, loss = self.train_step(state, batch, 0.1 / (step + 1))
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "state.pkl").write_bytes(pickle.dumps(jax.device_get(state)))
        print(f"step {state.step}: loss {loss:.4f} on {jax.device_count()} devices")


if __name__ == "__main__":
    Trainer(steps=3).run()
