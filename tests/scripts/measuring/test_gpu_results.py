"""The results of a device are stored, and compared with runs of the same modules on this machine's CPU."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import jax
import numpy as np
import pytest

from measuring.gpu_results import compare_programs, find_share, run_programs

if TYPE_CHECKING:
    from pathlib import Path


def test_a_run_on_this_cpu_is_stored_and_compared_with_itself(tmp_path: Path) -> None:
    path = tmp_path / "run.zip"
    with zipfile.ZipFile(path, "w") as archive:
        run_programs(archive, ["product", "closed_over", "exchange"], jax.devices("cpu")[0])
    with zipfile.ZipFile(path) as archive:
        run = json.loads(archive.read("run.json"))
        programs = compare_programs(archive, run["programs"])
    assert (run["device"], run["versions"]) == ("cpu", {"jax": jax.__version__})
    product = programs.pop("product")
    assert product.pop("rounded") == pytest.approx(3.6e-4, rel=0.1)
    assert product == {"evaluated": pytest.approx(0, abs=1e-6), "repeats": True}
    assert programs["closed_over"] == {"skipped": "the text of its module leaves out a large constant"}
    assert "mesh" in programs["exchange"]["skipped"]


@pytest.mark.parametrize(
    ("stored", "here", "share"),
    [
        ([1, 2, -4], [1, 2, -3], 0.25),
        ([np.nan, 8, 0], [np.nan, 6, 0], 0.25),
        ([0, 0, 0], [0, 0, 1], 1.0),
        ([np.inf, 2, 1], [np.inf, 2, 1.5], 0.25),
    ],
)
def test_a_share_compares_the_largest_difference_with_the_largest_magnitude(
    stored: list[float], here: list[float], share: float
) -> None:
    assert find_share(np.array(stored, np.float32).tobytes(), "another hash", np.array(here, np.float32)) == share
