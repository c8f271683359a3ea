"""The low-level code of a TPU's kernel as plain data agrees with libtpu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from programs import rnn as program
from xla_inspect import capture
from xla_inspect.analysis.bundles import read_below
from xla_inspect.report import describe_below

if TYPE_CHECKING:
    from xla_inspect.captured import Capture


@pytest.fixture(scope="module")
def on_tpu(all_targets: None) -> Capture:  # noqa: ARG001 - it asks for them
    return capture(program.rnn, *program.EXAMPLE, target="tpu-v5e", machine=True, passes=False)


def test_the_listing_has_the_bundles_cycles_loops_and_steps_of_the_dump(on_tpu: Capture) -> None:
    kernels = read_below(on_tpu)
    assert kernels
    for listing, kernel in zip(describe_below(on_tpu), kernels, strict=True):
        assert (listing.name, listing.bundles, listing.cycles) == (kernel.name, kernel.size, kernel.cycles)
        assert [(loop.first, loop.trips) for loop in listing.loops] == [
            (loop.first, loop.trips) for loop in kernel.loops
        ]
        assert [step.name for step in listing.steps] == [stage.name for stage in kernel.stages]
        assert sum(listing.operations.values()) == sum(kernel.units.values())
        assert listing.utilization.get(listing.busiest, 0) == max(listing.utilization.values(), default=0)
    # What is around the kernels is launched by nobody.
    around = {listing.name: listing.launches for listing in describe_below(on_tpu) if not listing.is_kernel}
    assert around["the program around the kernels"] == ()
    assert {*around.values()} == {()}
