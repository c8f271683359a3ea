"""The required job of a pull request succeeds if all of its jobs did, and lists the others."""

from __future__ import annotations

import json
import subprocess

import pytest

from common import ROOT

pytestmark = pytest.mark.long("it guards the project's upkeep and no reader")


def run(**results: str) -> subprocess.CompletedProcess[str]:
    """Run the gate for jobs, given by name with the result of each."""
    needs = json.dumps({name: {"result": result, "outputs": {}} for name, result in results.items()})
    command = ["bash", str(ROOT / "scripts" / "ci" / "needs_ok"), needs]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_the_gate_opens_only_when_every_job_succeeded() -> None:
    assert run(pages="success", programs="success").returncode == 0
    assert [run(pages="success", programs=ended).returncode for ended in ("failure", "cancelled", "skipped")] == [1] * 3
    assert run().returncode == 1


def test_the_result_of_each_job_is_printed() -> None:
    assert run(pages="success", programs="skipped").stdout == "success    pages\nskipped    programs\n"
