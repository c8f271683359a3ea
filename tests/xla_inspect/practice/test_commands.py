"""Each command of the practice in a pipe: its output, and its errors."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jax
import pytest

from xla_inspect import hlo_dump, jaxpr_demo, optimization_compare, targets
from xla_inspect.practice import models
from xla_inspect.practice.marking.exercises import find_exercises
from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.phases import PHASES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., Any]
    Begin = Callable[..., subprocess.Popen[str]]

SHOWS = {
    "basics": ("basics",),
    "jaxpr_demo": ("jaxpr",),
    "hlo_dump": ("hlo",),
    "optimization_compare": ("optimization",),
    "main": tuple(PHASES),
}
WITH_TARGET = [module for module in SHOWS if module != "basics"]
PROGRESS = re.compile(r"(?:starting JAX|compiling \w+ for [\w-]+(?:, with dumps)?) \.\.\.")


@pytest.mark.long("otherwise one command of the practice stands for all", but=["hlo_dump"])
@pytest.mark.parametrize("module", SHOWS)
def test_a_command_shows_its_phases_with_their_minutes_and_ends_each_with_references(module: str, run: Run) -> None:
    ended = run(module)
    assert ended.status == 0
    headings = re.findall(r"^Phase (\d) of 5: (.*) \((\d+) minutes\)$", ended.out, re.MULTILINE)
    expected = [PHASES[name] for name in SHOWS[module]]
    assert headings == [(str(phase.number), phase.title, str(phase.minutes)) for phase in expected]
    parts = re.split(r"^Phase \d of 5", ended.out, flags=re.MULTILINE)[1:]
    for part, phase in zip(parts, expected, strict=True):
        _, last = part.split("Read on\n")
        listed = [line.strip() for line in last.splitlines() if line.strip().startswith("https://")]
        assert listed == [*phase.references.values()]


@pytest.mark.long("otherwise one command of the practice stands for all", but=["hlo_dump"])
@pytest.mark.parametrize("module", SHOWS)
def test_a_phase_names_the_files_of_its_exercises_with_minutes_and_level(module: str, run: Run) -> None:
    out = run(module).out
    listed = re.findall(r"^    snippets/practice/(\w+)/(\w+)\.py +(\d+) +(\d)  \w", out, re.MULTILINE)
    expected = [exercise for name in SHOWS[module] for exercise in find_exercises(name)]
    assert listed == [
        (exercise.phase, exercise.name, str(exercise.minutes), str(exercise.level)) for exercise in expected
    ]


@pytest.mark.long("otherwise one command of the practice stands for all", but=["hlo_dump"])
@pytest.mark.parametrize("module", SHOWS)
def test_a_piped_command_prints_no_escapes_and_its_progress_separately(module: str, run: Run) -> None:
    ended = run(module)
    assert "\x1b" not in ended.out
    assert ended.out.isascii()
    lines = ended.err.splitlines()
    assert lines[0] == "starting JAX ..."
    assert [line for line in lines if not PROGRESS.fullmatch(line)] == []


@pytest.mark.long("otherwise one command of the practice stands for all", but=["hlo_dump"])
@pytest.mark.parametrize("module", SHOWS)
def test_help_describes_a_command_without_starting_jax(module: str, run: Run) -> None:
    ended = run(module, "--help")
    assert ended.status == 0
    assert ended.err == ""
    for name in SHOWS[module]:
        assert str(PHASES[name].minutes) in ended.out
    assert ("--target TARGET" in ended.out) == (module in WITH_TARGET)


@pytest.mark.long("otherwise one command of the practice stands for all", but=["hlo_dump"])
@pytest.mark.parametrize("module", WITH_TARGET)
def test_an_unknown_target_is_rejected_with_a_list(module: str, run: Run) -> None:
    ended = run(module, "--target", "h900")
    assert ended.status == 2
    assert ended.out == ""
    listed = ", ".join((*targets.TARGETS, "gpu"))
    assert ended.err.endswith(f"argument --target: no target is named 'h900'; the targets are {listed}\n")


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["h100", "tpu-v5e"])
@pytest.mark.parametrize(
    ("main", "arguments"),
    [(jaxpr_demo.main, ["--phase", "5"]), (hlo_dump.main, []), (optimization_compare.main, [])],
    ids=["jaxpr_demo", "hlo_dump", "optimization_compare"],
)
def test_a_command_shows_another_target_without_its_hardware(
    main: Callable[[list[str]], int], arguments: list[str], target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--target", target]) == 0
    out = capsys.readouterr().out
    title = {"h100": "NVIDIA H100", "tpu-v5e": "TPU v5e"}[target]
    assert f", {title}\n" in out
    # No kernel of another compiler.
    assert "__ynn_fusion" not in out
    assert ("__triton" in out) == (target == "h100")


def test_closing_the_pipe_ends_a_command_silently(begin: Begin) -> None:
    process = begin("hlo_dump")
    assert process.stdout
    assert process.stderr
    process.stdout.readline()
    process.stdout.close()
    error_text = process.stderr.read()
    assert process.wait(timeout=120) == 141
    assert [line for line in error_text.splitlines() if not PROGRESS.fullmatch(line)] == []
    process.stderr.close()


@pytest.mark.long("otherwise one command of the practice stands for all", but=["hlo_dump"])
@pytest.mark.parametrize("module", SHOWS)
def test_an_unknown_flag_is_reported_before_xla_ends_the_process(module: str, run: Run) -> None:
    ended = run(module, XLA_FLAGS="--xla_dump_too=dump")
    assert ended.status == 1
    message = "XLA_FLAGS has what this XLA does not know: --xla_dump_too. Did you mean --xla_dump_to?"
    assert ended.err == f"xla_inspect.{module}: {message}\n"


def test_unknown_hardware_is_reported_in_one_line(run: Run) -> None:
    ended = run("basics", JAX_PLATFORMS="none")
    assert ended.status == 1
    assert "Traceback" not in ended.err
    last = ended.err.splitlines()[-1]
    assert last.startswith("xla_inspect.basics: JAX does not start with JAX_PLATFORMS=none: Unable to initialize")
    assert last.endswith(". Unset it, or let cpu be one of its names")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pty module")
def test_a_command_in_a_terminal_prints_the_same_text_in_color(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "", "COLUMNS": "100"}
    kept_apart = (
        "import sys; from pathlib import Path; from xla_inspect import jaxpr_demo; "
        "from xla_inspect.practice.marking import logbook; logbook.FOLDER = Path(sys.argv[1]); "
        "sys.exit(jaxpr_demo.main([]))"
    )
    command = [sys.executable, "-c", kept_apart, str(tmp_path)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    # Of its two questions one is answered, at the second try, and the other skipped.
    os.write(ours, b"abc\n9\n\n")
    output = b""
    # Linux says EIO when the other end is closed.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 1 << 16):
            output += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    text = output.decode().replace("\r\n", "\n")
    assert "\x1b[1;36mPhase 2 of 5: Read your jaxpr (20 minutes)\x1b[0m" in text
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    model = jax.make_jaxpr(models.mlp)(models.PARAMS, models.X).pretty_print(use_color=False)
    assert "".join(f"    {line}\n" for line in model.splitlines()) in plain
    assert "You said 9, and it is 7: " in plain
    assert "Your answer, a whole number, not 'abc' (press Enter to skip): " in plain
    assert "You predicted 0 of 1 answer correctly." in plain
    assert Logbook(tmp_path).missed == ["jaxpr/equations"]
    assert "starting JAX ...\r\x1b[K" in text
