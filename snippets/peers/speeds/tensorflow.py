"""TensorFlow's programs, run by its own executor and through XLA."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import tensorflow as tf

from peers.tensorflow import layers

if TYPE_CHECKING:
    from collections.abc import Callable


def build(program: str, *, jit: bool) -> Callable[[], Any]:
    """Return a function that runs a program."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    arguments = layers.arguments(program)
    run = tf.function(layers.PROGRAMS[program], jit_compile=jit).get_concrete_function(*arguments)
    return lambda: run(*arguments).numpy()


WAYS = {"TensorFlow": partial(build, jit=False), "TensorFlow, jit_compile": partial(build, jit=True)}
