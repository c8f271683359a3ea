"""Time the kernels of the programs on a GPU, compare them with the ahead-of-time captures, and record both.

`scripts/measure` starts it. The times go to docs/data/kernel-times.json, by target, with device, versions and date.
"""

from __future__ import annotations

import argparse
import ast
import datetime as dt
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

from profiles import NO_DEVICE
from xla_inspect import capture
from xla_inspect.errors import InspectError
from xla_inspect.hlo.fusions import custom_fusion_kind
from xla_inspect.hlo.launches import STRUCTURE, list_launches
from xla_inspect.hlo.parser import parse
from xla_inspect.report.measured import DATA, hash_program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.hlo.module import Instruction
    from xla_inspect.hlo.record import Capture

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "snippets" / "programs"
# The GH200 is none of these: another processor sits beside its GPU.
GPU = re.compile(r"\b(?:A100|H100|H200|B200)\b", re.IGNORECASE)

ABSENT = """\
measure: no GPU that JAX can use here, so nothing was measured and no file was written.
JAX said: {reason}
A GPU takes its driver and the CUDA libraries of jax[cuda13]; `nvidia-smi` must list it. On a machine with one, run
scripts/measure again. `scripts/measure --platform cpu --out FILE` tries the recording on the CPU."""


def main() -> None:
    """Measure what the command line names, and write the record; leave with status 3 where there is no GPU."""
    parser = argparse.ArgumentParser(prog="scripts/measure", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="timed runs of each program (default: 20)")
    parser.add_argument("--platform", choices=("cuda", "cpu"), default="cuda", help="where to run (default: cuda)")
    parser.add_argument("--out", type=Path, help=f"the file to write (default: {DATA})")
    parser.add_argument("programs", nargs="*", help="files of snippets/programs by name (default: all)")
    given = parser.parse_args()
    if given.platform == "cpu" and given.out is None:
        parser.error("times of a CPU are not for the site: name another file with --out")
    known = find_programs()
    if unknown := sorted(set(given.programs) - set(known)):
        parser.error(f"no program with an EXAMPLE is named {', '.join(unknown)}; there are {', '.join(known)}")
    out = given.out or ROOT / DATA
    measured = measure(given.programs or known, given.platform, given.runs)
    target = find_target(measured["device"], given.platform)
    record = describe(measured, target)
    whole = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else {}
    whole[target] = record
    out.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"wrote {len(record['programs'])} programs on {record['device']} to {out}")


def find_programs() -> list[str]:
    """Return the files of snippets/programs that hold a function of their own name, and its EXAMPLE."""
    found = []
    for path in sorted(PROGRAMS.glob("*.py")):
        names: set[str] = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                    names.add(name)
                case ast.Assign(targets=targets):
                    names |= {each.id for each in targets if isinstance(each, ast.Name)}
        if {path.stem, "EXAMPLE"} <= names:
            found.append(path.stem)
    return found


def measure(programs: Sequence[str], platform: str, runs: int) -> dict[str, Any]:
    """Return what `scripts/profiles.py` measured in a process of its own, or leave where there is no such device."""
    environment = {**os.environ, "JAX_PLATFORMS": platform if platform == "cpu" else f"{platform},cpu"}
    if platform == "cuda":
        # Kernels inside a CUDA graph do not say which instruction they belong to.
        flags = environment.get("XLA_FLAGS", "")
        environment["XLA_FLAGS"] = f"{flags} --xla_gpu_enable_command_buffer=".strip()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "times.json"
        command = [sys.executable, str(ROOT / "scripts" / "profiles.py"), "--platform", platform]
        command += ["--runs", str(runs), "--out", str(result), *programs]
        ended = subprocess.run(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, check=False)
        if ended.returncode == NO_DEVICE:
            print(ABSENT.format(reason=find_reason(ended.stderr)), file=sys.stderr)
            sys.exit(NO_DEVICE)
        if ended.returncode:
            sys.exit(f"measure: scripts/profiles.py failed:\n{ended.stderr}")
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return found


def find_reason(stderr: str) -> str:
    """Return the last line that says something: before it stand the frames of a traceback."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"


def find_target(device: str, platform: str) -> str:
    """Return the short name of the target that a device is, or stop where it is none of the targets."""
    if platform == "cpu":
        return "cpu"
    found = GPU.search(device)
    if found is None:
        sys.exit(f"measure: {device} is none of the GPUs that programs are captured for (A100, H100, H200, B200)")
    return found[0].lower()


def describe(measured: Mapping[str, Any], target: str) -> dict[str, Any]:
    """Return the record of one device: what was measured, and of each program what the capture has otherwise.

    Args:
        measured: What `scripts/profiles.py` wrote.
        target: The target that the device is.
    """
    programs = {}
    for name, found in measured["programs"].items():
        if "skipped" in found:
            print(f"{name} skipped: {found['skipped']}")
            continue
        module = importlib.import_module(f"programs.{name}")
        try:
            ahead = capture(getattr(module, name), *module.EXAMPLE, target=target)
        except InspectError as error:
            print(f"{name} skipped: {error}")
            continue
        programs[name] = describe_program(found, ahead)
        print(f"{name}: {say(programs[name])}")
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "device": measured["device"],
        "runs": measured["runs"],
        "target": target,
        "versions": measured["versions"],
        "programs": programs,
    }


def describe_program(found: Mapping[str, Any], ahead: Capture) -> dict[str, Any]:
    """Return the record of one program.

    Returns:
        `stablehlo`, which says that a capture is of the same program; `kernels`, as measured, each with `what` it is;
        and `changed`: how often each sort of kernel is launched on the device, minus how often in the capture.
    """
    module = parse(found["module"])
    named = {instruction.name: instruction for instruction in module.walk()}
    kernels = [{**each, "what": name_kind(named.get(each["name"]))} for each in found["kernels"]]
    # A loop is not launched, what it repeats is.
    launched = Counter(each["what"] for each in kernels if each["what"] not in STRUCTURE)
    captured = Counter(name_kind(launch.instruction) for launch in list_launches(ahead))
    launched.subtract(captured)
    return {
        "stablehlo": hash_program(ahead.stablehlo),
        "kernels": kernels,
        "changed": {name: number for name, number in sorted(launched.items()) if number},
    }


def name_kind(instruction: Instruction | None) -> str:
    """Return what sort of kernel an instruction is: its opcode, and the fusion's or the library call's kind."""
    if instruction is None:
        return "unknown"
    kind = custom_fusion_kind(instruction) or instruction.fusion_kind or instruction.custom_call_target
    return f"{instruction.opcode} {kind or ''}".rstrip()


def say(program: Mapping[str, Any]) -> str:
    """Return in one line what was measured, and how the launches differ from the capture's."""
    total = sum(each["us"] * each["launches"] for each in program["kernels"])
    changed = ", ".join(f"{number:+d} {name}" for name, number in program["changed"].items())
    number = len(program["kernels"])
    kernels = f"{number} kernel{'' if number == 1 else 's'}"
    return f"{kernels}, {total:.1f} us; against the capture: {changed or 'the same kernels'}"


if __name__ == "__main__":
    main()
