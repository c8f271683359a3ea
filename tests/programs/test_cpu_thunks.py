"""The CPU's log of thunks, requested before Python starts."""

from __future__ import annotations

from programs import cpu_thunks, layer
from xla_inspect import capture
from xla_inspect.analysis import list_launches


def test_each_kernel_of_the_layer_is_a_thunk_of_that_name_in_order() -> None:
    program = capture(layer.layer, *layer.EXAMPLE, target="cpu", passes=False)
    assert [name for name, _ in cpu_thunks.cpu_thunks()] == [launch.name for launch in list_launches(program)]
