"""ONNX Runtime's programs, with all graph optimizations enabled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnxruntime as ort

from peers import given, models

if TYPE_CHECKING:
    from collections.abc import Callable


def build(program: str) -> Callable[[], Any]:
    """Return a function that runs a program."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(
        models.PROGRAMS[program]().SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    arguments = given.inputs(program)
    return lambda: session.run(None, arguments)[0]


WAYS = {"ONNX Runtime": build}
