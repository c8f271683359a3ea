"""The costs of commands about programs of real size, compared with JAX alone making the same compile.

`scripts/bench scale [--only NAME,...] [--runs N]`. Each run is a process of its own, with nothing kept between them,
and the two alternate: JAX alone, then each command. Figures are kept in docs/data/scale.json, row by row.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import stamps
from common import ROOT, say
from measuring.run_stamp import name_machine, today
from xla_inspect.process import RUN_MODULE, Child, name_end
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Sequence

OUT = ROOT / "docs" / "data" / "scale.json"
SCRIPT = "scripts/bench scale"
PROGRAMS = ROOT / "snippets" / "scale"

MEMORY, SUMMARY, STEPPED = "memory", "summary", "show --stage passes"
BARS = {MEMORY: 1.1, SUMMARY: 1.1, STEPPED: 1.2}
"""The largest ratio of each command's processor seconds to those of JAX alone; dumping each pass costs more."""
PEAK_BAR, ANSWER_BAR = 1.5, 2.0
"""The largest ratio of a command's memory to JAX's, and the most seconds from the end of compiling to the answer."""

_COMPILED = re.compile(r"Finished XLA compilation of \S+ in ([\d.]+) sec")


@dataclass(frozen=True)
class Row:
    """A row of the record: a program, a target, and how to measure them.

    Attributes:
        name: The name for the option `--only`.
        title: A description of the program.
        program: The file, and the name in its PROGRAMS.
        target: The target.
        mesh: The mesh axes of the devices, or an empty string.
        stepped: Whether to capture the module after each pass too, which takes minutes for a large program.
        fits: Whether the program fits into the target's memory, and so compiles.
    """

    name: str
    title: str
    program: str
    target: str
    mesh: str = ""
    stepped: bool = False
    fits: bool = True

    @property
    def subject(self) -> str:
        """The argument that tells a command which program to compile."""
        return str(PROGRAMS / self.program)


ROWS = (
    Row("llama-7b-tpu", "Llama 7B, training step", "llama.py:step_7b", "tpu-v5e:16x16", "fsdp=256,tensor=1"),
    Row("llama-7b-gpu", "Llama 7B, training step", "llama.py:step_7b_one_host", "h100:8", "fsdp=8,tensor=1"),
    Row("llama-70b-tpu", "Llama 70B, training step", "llama.py:step_70b", "tpu-v5p:8x8x8", "fsdp=128,tensor=4"),
    Row(
        "llama-7b-all-saved",
        "Llama 7B, nothing computed again",
        "llama.py:step_7b_all_saved",
        "tpu-v5e:4x4",
        "fsdp=16,tensor=1",
        fits=False,
    ),
    Row("moe-tpu", "mixture of experts, 8x7B", "moe.py:step", "tpu-v5p:4x4x4", "fsdp=8,expert=8"),
    Row("gpt2-gpu", "GPT-2, blocks unrolled", "gpt2.py:step", "h100", stepped=True),
    Row("gpt2-tpu", "GPT-2, blocks unrolled", "gpt2.py:step", "tpu-v5e"),
    Row("resnet-gpu", "ResNet-50", "resnet.py:step", "h100", stepped=True),
    Row("resnet-tpu", "ResNet-50", "resnet.py:step", "tpu-v5e"),
    Row("vit-gpu", "ViT-B/16", "vit.py:step", "h100", stepped=True),
    Row("vit-tpu", "ViT-B/16", "vit.py:step", "tpu-v5e", stepped=True),
    Row("unet-gpu", "diffusion U-Net", "unet.py:step", "h100", stepped=True),
    Row("unet-tpu", "diffusion U-Net", "unet.py:step", "tpu-v5e"),
    Row("ssm-gpu", "state space model, Mamba 130M", "ssm.py:step", "h100", stepped=True),
    Row("ssm-tpu", "state space model, Mamba 130M", "ssm.py:step", "tpu-v5e", stepped=True),
)


@dataclass(frozen=True)
class Run:
    """The measurements of one process.

    Attributes:
        wall: Seconds from its start to its end.
        processor: Processor seconds, including those of child processes.
        peak: The peak memory of the largest of these processes, in bytes.
        compiling: Seconds of compilation.
        answering: Seconds from the end of the compilation to the end of the process.
    """

    wall: float
    processor: float
    peak: int
    compiling: float
    answering: float


def main(words: Sequence[str] | None = None) -> int:
    """Measure the rows that the command line names, and return the exit status, which is 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(prog=SCRIPT, description=__doc__)
    parser.add_argument("--only", default="", help=f"some of {', '.join(row.name for row in ROWS)}")
    parser.add_argument("--runs", type=int, default=1, help="pairs of each (default: %(default)s)")
    options = parser.parse_args(words)
    names = options.only.split(",") if options.only else [row.name for row in ROWS]
    if unknown := set(names) - {row.name for row in ROWS}:
        parser.error(f"no row {min(unknown)!r}; there are {', '.join(row.name for row in ROWS)}")
    rows = {row.name: row for row in ROWS}
    is_good = True
    for name in names:
        measured = measure_row(rows[name], options.runs)
        keep(rows[name], measured)
        faults = list(list_faults(measured))
        for fault in faults:
            say(f"{name}: {fault}")
        is_good = is_good and not faults
    return int(not is_good)


def measure_row(row: Row, runs: int) -> dict[str, Any]:
    """Run JAX alone and each command in turn; return the record of a row with the median of each figure."""
    commands = [MEMORY, *([SUMMARY] if row.fits else []), *([STEPPED] if row.stepped else [])]
    layout = ["--mesh", row.mesh] if row.mesh else []
    runs_by_name: dict[str, list[Run]] = {"bare": [], **{command: [] for command in commands}}
    load, counts = os.getloadavg()[0], {}
    for turn in range(runs):
        bare = ["measuring.bare_scale", row.subject, row.mesh, row.target]
        runs_by_name["bare"].append(time_module(bare, fits=row.fits)[0])
        say(f"{row.name}, turn {turn + 1}: JAX alone {describe_run(runs_by_name['bare'][-1])}")
        for command in commands:
            name, *options = command.split()
            form = ["--json"] if name == SUMMARY else []
            line = [name, row.subject, *layout, "--target", row.target, *options, *form]
            run, output = time_module(["xla_inspect.commands", *line], fits=row.fits)
            runs_by_name[command].append(run)
            say(
                f"{row.name}, turn {turn + 1}: {command} {describe_run(run)}; "
                f"{compare_with_bare(run, runs_by_name['bare'][-1])}"
            )
            if name == SUMMARY:
                first = json.loads(output)["targets"][0]
                counts = {what: first[what] for what in ("kernels", "flops", "moved_bytes", "peak_bytes")}
    return {
        "title": row.title,
        "program": row.program,
        "target": row.target,
        "mesh": row.mesh,
        "date": today(),
        "machine": name_machine(),
        "load": round(load, 1),
        "runs": runs,
        "counted": counts,
        "costs": {name: summarize(command_runs) for name, command_runs in runs_by_name.items()},
    }


def time_module(words: Sequence[str], *, fits: bool) -> tuple[Run, str]:
    """Run a module with arguments to its end, and return the measurements and the output.

    This process exits unless the module ends with status 0, or with 1 for a program that does not fit.
    """
    environment = {**os.environ, "XLA_INSPECT_CACHE": "off", "JAX_LOG_COMPILES": "1"}
    # Without its bytecode files Python would compile every module again, which is not the cost of a command.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    compiles: list[tuple[float, float]] = []
    errors: list[str] = []
    beginning = time.perf_counter()
    with Child(
        [sys.executable], RUN_MODULE, words, folder=ROOT, variables=environment, errors=subprocess.PIPE
    ) as child:

        def listen() -> None:
            for line in child.process.stderr or ():
                errors.append(line)
                if match := _COMPILED.search(line):
                    compiles.append((time.perf_counter(), float(match[1])))

        # Both pipes are read at the same time, since a full pipe would block the process.
        listener = threading.Thread(target=listen)
        listener.start()
        output = "".join(child)
        listener.join()
        usage = child.measure_use()
        ended = time.perf_counter()
    if (code := child.process.returncode) != (0 if fits else 1):
        sys.exit(f"{' '.join(words)} ended ({name_end(code)}):\n{output[-2000:]}{''.join(errors[-20:])}")
    # The log may also contain small compilations, such as those of arrays that a file creates; the longest one counts.
    end, seconds = max(compiles, key=lambda entry: entry[1], default=(ended, 0.0))
    return Run(ended - beginning, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, seconds, ended - end), output


def summarize(runs: Sequence[Run]) -> dict[str, float]:
    """Return the median of each figure over runs, by the name of the figure in `Run`."""
    figures = [asdict(run) for run in runs]
    return {name: round(statistics.median(figure[name] for figure in figures), 2) for name in figures[0]}


def describe_run(run: Run) -> str:
    """Return the measurements of a run as text."""
    after = f", {run.answering:.1f} s after the compile of {run.compiling:.1f} s" if run.compiling else ""
    return f"{run.wall:.1f} s ({run.processor:.1f} of the processor), {run.peak / 1e9:.2f} GB{after}"


def compare_with_bare(run: Run, bare: Run) -> str:
    """Return the ratios of a command's processor time and memory to those of JAX alone, as text."""
    return f"{run.processor / bare.processor:.2f} x the processor, {run.peak / bare.peak:.2f} x the memory"


def keep(row: Row, measured: dict[str, Any]) -> None:
    """Write a row into the record, next to the rows that were measured before."""
    record = stamps.read_sealed(OUT) if OUT.is_file() else {"rows": {}, "versions": {}}
    rows = {**record["rows"], row.name: measured}
    versions = {**record["versions"], **find_target(row.target).versions}
    stamps.write_sealed(
        OUT, SCRIPT, versions, {"rows": {entry.name: rows[entry.name] for entry in ROWS if entry.name in rows}}
    )


def list_faults(measured: dict[str, Any]) -> list[str]:
    """Return a sentence for each limit that a row exceeds."""
    costs = measured["costs"]
    bare, faults = costs["bare"], []
    for command, cost in costs.items():
        if command == "bare":
            continue
        for what, name, bar in (("processor", "processor", BARS[command]), ("memory", "peak", PEAK_BAR)):
            if (ratio := cost[name] / bare[name]) > bar:
                faults.append(f"{command} takes {ratio:.2f} times the {what} of JAX alone, and not {bar}")
        if command != STEPPED and cost["compiling"] and cost["answering"] > ANSWER_BAR:
            faults.append(f"{command} answers {cost['answering']:.1f} s after the compile, and not {ANSWER_BAR}")
    return faults


if __name__ == "__main__":
    sys.exit(main())
