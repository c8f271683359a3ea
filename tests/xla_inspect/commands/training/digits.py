"""A training script for a small classifier of digits, with shuffled batches and a smaller last batch."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--lr", type=float, default=1e-3)
arguments = parser.parse_args()


def init(key, sizes=(64, 32, 10)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": jax.random.normal(key, (m, n)) / jnp.sqrt(m), "b": jnp.zeros(n)}
        for key, m, n in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]


def forward(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, batch):
    logits = jax.nn.log_softmax(forward(params, batch["image"]))
    return -jnp.mean(jnp.take_along_axis(logits, batch["label"][:, None], axis=1))


@jax.jit
def train_step(params, momentum, batch, lr):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - lr * m, params, momentum), momentum, loss


@jax.jit
def accuracy(params, batch):
    return jnp.mean(jnp.argmax(forward(params, batch["image"]), axis=1) == batch["label"])


random = np.random.default_rng(0)
images = random.standard_normal((150, 64), dtype=np.float32)
labels = random.integers(0, 10, 150, dtype=np.int32)
params = init(jax.random.key(0))
momentum = jax.tree.map(jnp.zeros_like, params)
lr = arguments.lr
for epoch in range(arguments.epochs):
    order = random.permutation(len(images))
    for start in range(0, len(order), arguments.batch_size):
        chosen = order[start : start + arguments.batch_size]
        batch = {"image": images[chosen], "label": labels[chosen]}
        params, momentum, loss = train_step(params, momentum, batch, lr)
    # From the second epoch on the rate is an array, and no number of Python's.
    lr = jnp.float32(lr) * 0.5
    correct = accuracy(params, {"image": images, "label": labels})
    print(f"epoch {epoch}: loss {loss:.3f}, accuracy {correct:.2f}")
