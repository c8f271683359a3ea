"""Time the kernels of the programs on a GPU, compare them with the ahead-of-time captures, and record both.

`scripts/measure` starts it. The times go to docs/data/kernel-times.json, by target, with device, versions and date.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stamps
from common import ROOT
from measuring.gpu_profile import NO_DEVICE
from measuring.run_stamp import today
from xla_inspect import capture, targets
from xla_inspect.analysis import find_role, list_launches
from xla_inspect.compilation import find_function, list_defined_names
from xla_inspect.errors import InspectError
from xla_inspect.hlo import parse_module
from xla_inspect.plural import plural
from xla_inspect.report import hash_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.captured import Capture

PROGRAMS = ROOT / "snippets" / "programs"
TIMES = Path("docs/data/kernel-times.json")
# The GH200 is not included, because its GPU is combined with another processor.
GPUS = {name: entry.model for name, entry in targets.ENTRIES.items() if name in targets.TARGETS and entry.kind == "gpu"}

ABSENT = """\
measure: no GPU that JAX can use here, so nothing was measured and no file was written.
JAX said: {reason}
A GPU takes its driver and the CUDA libraries of jax[cuda13]; `nvidia-smi` must list it. On a machine with one, run
scripts/measure again. `scripts/measure --platform cpu --out FILE` tries the recording on the CPU."""


def main() -> None:
    """Measure the programs that the command line names, and write the record; exit with status 3 without a GPU."""
    parser = argparse.ArgumentParser(prog="scripts/measure", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="timed runs of each program (default: 20)")
    parser.add_argument("--platform", choices=("cuda", "cpu"), default="cuda", help="where to run (default: cuda)")
    parser.add_argument("--out", type=Path, help=f"the file to write (default: {TIMES})")
    parser.add_argument("programs", nargs="*", help="files of snippets/programs by name (default: all)")
    options = parser.parse_args()
    # The default file holds times of GPUs that the site shows, which a trial on the CPU must not overwrite.
    if options.platform == "cpu" and options.out is None:
        parser.error("times of a CPU are not for the site: name another file with --out")
    names = find_programs()
    if unknown := sorted(set(options.programs) - set(names)):
        parser.error(f"no program with an EXAMPLE is named {', '.join(unknown)}; there are {', '.join(names)}")
    out = options.out or ROOT / TIMES
    measured = measure_programs(options.programs or names, options.platform, options.runs)
    target = choose_target(measured["device"], options.platform)
    record = record_device(measured, target)
    earlier = stamps.read_sealed(out) if out.is_file() else {}
    whole = {**{name: earlier[name] for name in targets.TARGETS if name in earlier}, target: record}
    # Targets are measured at different times and have versions of their own; the file's stamp has the newest ones.
    stamps.write_sealed(out, "scripts/measure", record["versions"], whole)
    print(f"wrote {len(record['programs'])} programs on {record['device']} to {out}")


def find_programs() -> list[str]:
    """Return the names of the files in snippets/programs that define a function of their own name, and its EXAMPLE."""
    return [path.stem for path in sorted(PROGRAMS.glob("*.py")) if list_defined_names(path) >= {path.stem, "EXAMPLE"}]


def measure_programs(programs: Sequence[str], platform: str, runs: int) -> dict[str, Any]:
    """Run `measuring.gpu_profile` in a process of its own, and return its measurements; exit if it fails."""
    environment = {**os.environ, "JAX_PLATFORMS": platform if platform == "cpu" else f"{platform},cpu"}
    if platform == "cuda":
        # The profile of kernels inside a CUDA graph does not name their instructions, so CUDA graphs are turned off.
        flags = environment.get("XLA_FLAGS", "")
        environment["XLA_FLAGS"] = f"{flags} --xla_gpu_enable_command_buffer=".strip()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "times.json"
        job = {"platform": platform, "runs": runs, "out": str(result), "programs": [*programs]}
        command = [sys.executable, "-m", "measuring.gpu_profile", json.dumps(job)]
        ended = subprocess.run(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, check=False)
        if ended.returncode == NO_DEVICE:
            print(ABSENT.format(reason=find_reason(ended.stderr)), file=sys.stderr)
            sys.exit(NO_DEVICE)
        if ended.returncode:
            sys.exit(f"measure: measuring.gpu_profile failed:\n{ended.stderr}")
        times: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return times


def find_reason(stderr: str) -> str:
    """Return the last non-empty line of an error output, where a traceback has its message, or `nothing`."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"


def choose_target(device: str, platform: str) -> str:
    """Return the short name of the target for a device, or exit if no target matches."""
    if platform == "cpu":
        return "cpu"
    for name, model in GPUS.items():
        if re.search(rf"\b{re.escape(model)}\b", device, re.IGNORECASE):
            return name
    sys.exit(f"measure: {device} is none of the GPUs that programs are captured for ({', '.join(GPUS.values())})")


def record_device(measured: Mapping[str, Any], target: str) -> dict[str, Any]:
    """Capture the measured programs; return the record of one device: times, and differences from the captures.

    Args:
        measured: The output of `measuring.gpu_profile`.
        target: The target of the device.
    """
    programs = {}
    for name, profile in measured["programs"].items():
        if "skipped" in profile:
            print(f"{name} skipped: {profile['skipped']}")
            continue
        program = find_function(importlib.import_module(f"programs.{name}"), name)
        try:
            ahead = capture(program.function, *program.example, target=target)
        except InspectError as error:
            print(f"{name} skipped: {error}")
            continue
        programs[name] = describe_program(profile, ahead)
        print(f"{name}: {describe_times(programs[name])}")
    return {
        "date": today(),
        "device": measured["device"],
        "runs": measured["runs"],
        "target": target,
        "versions": measured["versions"],
        "programs": programs,
    }


def describe_program(profile: Mapping[str, Any], ahead: Capture) -> dict[str, Any]:
    """Return the record of one program: its measured kernels, and how they differ from the launches of a capture.

    Returns:
        `stablehlo`, a hash that identifies captures of the same program; `kernels`, as measured, one entry for each HLO
        instruction, with `what` it is; and `changed`: for each sort of launch whose number differs, the instructions
        launched on the device minus those in the capture. An instruction counts once, however often it was launched.
    """
    module = parse_module(profile["module"])
    # A loop itself is not launched, but its body is; launches therefore override the opcodes of all instructions.
    sorts = {instruction.name: instruction.opcode for instruction in module.walk()}
    sorts |= {launch.name: launch.sort for launch in list_launches(module)}
    kernels = [{**kernel, "what": sorts.get(kernel["name"], "unknown")} for kernel in profile["kernels"]]
    launched = Counter(kernel["what"] for kernel in kernels if find_role(kernel["what"]))
    captured = Counter(launch.sort for launch in list_launches(ahead))
    # `subtract` keeps negative counts, which stand for launches that only the capture has.
    launched.subtract(captured)
    return {
        "stablehlo": hash_program(ahead.stablehlo),
        "kernels": kernels,
        "changed": {name: number for name, number in sorted(launched.items()) if number},
    }


def describe_times(program: Mapping[str, Any]) -> str:
    """Return one line: the number of kernels, the microseconds of a run, and the differences from the capture."""
    total = sum(kernel["us"] * kernel["launches"] for kernel in program["kernels"])
    differences = ", ".join(f"{number:+d} {name}" for name, number in program["changed"].items())
    kernels = plural(len(program["kernels"]), "kernel")
    return f"{kernels}, {total:.1f} us; against the capture: {differences or 'the same kernels'}"


if __name__ == "__main__":
    main()
