"""Compilers that install in seconds still agree with their records."""

from __future__ import annotations

import os
import re

import pytest

from common import ROOT
from measuring import peer_runs
from peers import records

# The others take gigabytes and minutes; continuous integration runs them with `scripts/peers`.
CHEAP = [name for name in records.names() if name in {"iree", "onnxruntime", "tvm"}]


@pytest.mark.long("other compilers are installed and run")
@pytest.mark.parametrize("peer", CHEAP)
def test_a_compiler_does_what_its_record_says(peer: str) -> None:
    outcome = peer_runs.check_peer(peer)
    if outcome.verdict is peer_runs.PeerVerdict.NOT_RUN and os.environ.get("REQUIRE_TARGETS") != "all":
        pytest.skip(f"{peer} was not run: {outcome.why}")
    assert outcome.verdict is peer_runs.PeerVerdict.AGREES, outcome.why


def test_continuous_integration_runs_the_others() -> None:
    [line] = re.findall(r"(?m)^scripts/peers (.*?) --", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert sorted([*line.split(), *CHEAP]) == sorted(records.names())
