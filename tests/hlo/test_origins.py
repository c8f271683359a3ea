"""A launch is traced back to the Python expressions that it computes."""

from __future__ import annotations

import pytest

from programs import attention, layer
from xla_inspect import capture
from xla_inspect.hlo.fusions import entry_kernels
from xla_inspect.hlo.origins import Origin, list_origins
from xla_inspect.hlo.provenance import find_line


@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_every_line_of_the_program_is_found_in_some_launch(target: str) -> None:
    found = capture(attention.attention, *attention.EXAMPLE, target=target)
    origins = [origin for launch in entry_kernels(found.module) for origin in list_origins(found, launch)]
    body = {find_line(found, text) for text in ("x @ wq", "q, k)", "softmax(", "weights, v)", "@ wo")}
    assert {origin.line for origin in origins} - {None} == body
    assert {origin.expression for origin in origins} >= {"x @ wq", "jax.nn.softmax(scores, axis=-1)", "mixed @ wo"}


def test_one_launch_may_hold_several_expressions_of_one_line() -> None:
    found = capture(layer.layer, *layer.EXAMPLE, target="tpu-v5e")
    copy, _, fusion = entry_kernels(found.module)
    assert list_origins(found, fusion) == (
        Origin(9, "x @ w", ("convolution",)),
        Origin(9, "x @ w + b", ("broadcast", "add")),
        Origin(9, "jax.nn.relu(x @ w + b)", ("broadcast", "maximum")),
    )
    assert list_origins(found, copy) == (Origin(None, "", ("copy-start",)),)
