"""Train a small language model on characters, then write with it: a text that grows by one character each time."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

TEXT = "to be or not to be that is the question " * 2
LETTERS = sorted(set(TEXT))


@dataclass(frozen=True)
class Config:
    layers: int = 2
    width: int = 32
    heads: int = 4
    dropout: float = 0.1


def init_params(key, config):
    width = config.width
    keys = jax.random.split(key, 5)

    def normal(key, *shape):
        return jax.random.normal(key, shape) * 0.1

    return {
        "embed": normal(keys[0], len(LETTERS), width),
        "layers": {
            "qkv": normal(keys[1], config.layers, width, 3 * width),
            "out": normal(keys[2], config.layers, width, width),
            "up": normal(keys[3], config.layers, width, 4 * width),
            "down": normal(keys[4], config.layers, 4 * width, width),
        },
    }


def forward(params, tokens, config, key, *, train):
    x = params["embed"][tokens]
    length = tokens.shape[-1]
    mask = jnp.tril(jnp.ones((length, length), bool))

    @jax.checkpoint
    def block(x, layer):
        q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
        q, k, v = (each.reshape(*each.shape[:-1], config.heads, -1) for each in (q, k, v))
        scores = jnp.einsum("...qhd,...khd->...hqk", q, k) / q.shape[-1] ** 0.5
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
        mixed = jnp.einsum("...hqk,...khd->...qhd", weights, v).reshape(x.shape)
        x = x + mixed @ layer["out"]
        return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"], None

    x, _ = jax.lax.scan(block, x, params["layers"])
    if train:
        x = x * jax.random.bernoulli(key, 1 - config.dropout, x.shape) / (1 - config.dropout)
    return x @ params["embed"].T


@partial(jax.jit, static_argnames="config", donate_argnums=0)
def update(params, tokens, key, config):
    def loss_fn(params):
        logits = jax.nn.log_softmax(forward(params, tokens[:, :-1], config, key, train=True))
        return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], axis=-1))

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads), loss


@partial(jax.jit, static_argnames="config")
def next_letter(params, tokens, config):
    return jnp.argmax(forward(params, tokens, config, None, train=False)[-1])


def main():
    config = Config()
    tokens = jnp.array([LETTERS.index(letter) for letter in TEXT])
    key = jax.random.key(0)
    params = init_params(key, config)
    for _ in range(2):
        key, now = jax.random.split(key)
        starts = jax.random.randint(now, (8,), 0, len(tokens) - 17)
        batch = jnp.stack([tokens[start : start + 17] for start in starts.tolist()])
        params, loss = update(params, batch, now, config)
    print("loss", loss)
    written = tokens[:4]
    for _ in range(3):
        written = jnp.append(written, next_letter(params, written, config))
    print("".join(LETTERS[at] for at in written.tolist()))


if __name__ == "__main__":
    main()
