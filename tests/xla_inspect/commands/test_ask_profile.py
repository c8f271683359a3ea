"""Profiles and parts of memory plans as subjects on the command line."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from xla_inspect.commands import command_line

if TYPE_CHECKING:
    from pathlib import Path


def asked_step(x: jax.Array) -> jax.Array:
    """Return a matrix from a matrix."""
    return jnp.sort(x, axis=1) @ jnp.sin(x)


def unasked(x: jax.Array) -> jax.Array:
    """Return a matrix whose program does not run while the profile is recorded."""
    return jnp.cos(x) @ x


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that jax.profiler writes for three runs on this machine's CPU, and the reports of a dump."""
    folder = tmp_path_factory.mktemp("asked")
    with jax.default_device(jax.devices("cpu")[0]):
        x, run = jnp.ones((64, 64)), jax.jit(asked_step)
        jax.block_until_ready((run(x), jax.jit(unasked)(x)))
        with jax.profiler.trace(str(folder / "profile")):
            for _ in range(3):
                run(x).block_until_ready()
    options = {"xla_dump_to": str(folder / "dump"), "xla_dump_hlo_as_text": True}
    jax.jit(unasked).lower(x).compile(compiler_options=options)
    return folder


def ask(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    return command_line.run_here(words, out), out.getvalue()


def find_profile(folder: Path) -> str:
    return str(next(folder.rglob("*.xplane.pb")))


def test_the_programs_of_a_profile_are_listed(folder: Path) -> None:
    # The profiler records every program of this process, and the table shows a few without the option.
    status, text = ask("read", find_profile(folder), "--all")
    assert status == 0
    assert "jit_asked_step" in text
    assert "jit_unasked" in text


@pytest.mark.parametrize("question", ["summary", "memory", "collectives", "passes"])
def test_a_question_about_a_program_of_a_profile_is_answered(question: str, folder: Path) -> None:
    status, text = ask(question, f"{find_profile(folder)}:jit_asked_step")
    assert (status, text.startswith("jit_asked_step")) == (0, True)


@pytest.mark.parametrize("is_folder", [False, True])
def test_kernels_joins_the_times_of_the_same_profile(*, is_folder: bool, folder: Path) -> None:
    subject = f"{folder / 'profile' if is_folder else find_profile(folder)}:jit_asked_step"
    _, with_trace = ask("kernels", subject, "--trace", find_profile(folder), "--json")
    status, output = ask("kernels", subject, "--json")
    assert status == 0
    joined, expected = json.loads(output), json.loads(with_trace)
    assert joined["launches"] == expected["launches"]
    assert {launch["count"] % 3 for launch in joined["launches"]} == {0}
    assert joined["joined_seconds"] > 0


def test_a_launch_that_is_named_is_described_in_detail(folder: Path) -> None:
    subject = f"{find_profile(folder)}:jit_asked_step"
    name = json.loads(ask("kernels", subject, "--json")[1])["launches"][0]["name"]
    assert ask("kernels", subject, name)[1].startswith(f"{name} is a")


def test_a_program_that_did_not_run_in_the_profile_has_launches_without_times(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = ask("kernels", f"{find_profile(folder)}:jit_unasked")
    assert (status, text.startswith("jit_unasked on CPU: ")) == (0, True)
    assert "belongs to jit_unasked, so the times of its launches are not known" in capsys.readouterr().err


def test_a_buffer_assignment_alone_answers_memory_and_names_what_it_lacks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(next((folder / "dump").glob("*jit_unasked*-buffer-assignment.txt")))
    status, text = ask("memory", file)
    assert (status, text.startswith("jit_unasked on CPU needs ")) == (0, True)
    assert "These files lack: the optimized module (there is no HLO module in this dump" in " ".join(text.split())
    for question in ("summary", "kernels", "collectives", "why", "passes", "report"):
        assert ask(question, file) == (2, ""), question
        assert "has no HLO module, but only a memory plan" in capsys.readouterr().err, question


def test_the_recompilations_of_memory_plans_alone_are_not_guessed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(next((folder / "dump").glob("*jit_unasked*-live-range.txt")))
    assert ask("recompiles", file) == (2, "")
    assert "has no HLO module" in capsys.readouterr().err
