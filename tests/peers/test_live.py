"""The compilers that install in seconds do today what their records say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from peers import records

if TYPE_CHECKING:
    from types import ModuleType

# The others take gigabytes and minutes; continuous integration runs them with `scripts/peers`.
CHEAP = [name for name in records.names() if name in {"iree", "onnxruntime", "tvm"}]


@pytest.mark.parametrize("peer", CHEAP)
def test_a_compiler_does_what_its_record_says(runner: ModuleType, peer: str) -> None:
    outcome = runner.run(peer, print)
    if outcome.verdict is runner.Verdict.NOT_RUN and os.environ.get("REQUIRE_TARGETS") != "all":
        pytest.skip(f"{peer} was not run: {outcome.why}")
    assert outcome.verdict is runner.Verdict.AGREES, outcome.why
