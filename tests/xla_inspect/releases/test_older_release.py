"""Older releases are installed, compile, and are read with their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.analysis import find_lines, list_held, list_kernels
from xla_inspect.releases import (
    ReleaseError,
    list_requirements,
    make_environment,
    measure_capture,
    read_probe,
    run_probe,
)
from xla_inspect.subject import ReleaseTask, Request

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long("three releases are laid out, half a gigabyte each")

PROGRAM = """\
import jax, jax.numpy as jnp

def step(w, x):
    return jax.lax.fori_loop(0, 9, lambda at, held: jnp.sin(held @ w), x)

EXAMPLE = (jax.ShapeDtypeStruct((32, 32), jnp.float32), jax.ShapeDtypeStruct((8, 32), jnp.float32))
"""


@pytest.mark.parametrize(("version", "is_old"), [("0.10.2", False), ("0.6.2", True), ("0.4.31", True)])
def test_an_older_release_compiles_and_is_read(version: str, is_old: bool, tmp_path: Path) -> None:  # noqa: FBT001
    try:
        environment = make_environment(version, {"cpu": list_requirements(version)}, store=tmp_path / "store")
    except ReleaseError:
        if not is_old:
            raise
        pytest.skip("no release of JAX of years ago can be installed here")
    (tmp_path / "step.py").write_text(PROGRAM, encoding="utf-8")
    task = ReleaseTask(Request((f"{tmp_path}/step.py:step",)), "cpu")
    described = task.describe(environment, tmp_path / "task")
    ((_, result),) = run_probe(environment, [described], flags=task.flags, paths=task.paths)
    probed_capture = read_probe(described, result, environment.versions)
    assert probed_capture.versions["jax"] == version
    assert len(list_kernels(probed_capture)) >= 2
    assert {line.number for line in find_lines(probed_capture, probed_capture.module).values()} == {4}
    values = measure_capture(probed_capture)
    assert values["code"].instructions > 0
    assert values["memory"] > 0
    assert probed_capture.passes
    assert probed_capture.runs
    assert all(part.size for part in list_held(probed_capture))
