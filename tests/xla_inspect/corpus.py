"""The compilation of the programs of `cases` with dumps: `python corpus.py FOLDER TARGET`."""

from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path

import jax
import numpy as np
from cases import PROGRAMS, Program
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from xla_inspect.targets import find_target

DEVICES = {"cpu": "cpu:8", "h100": "h100:8", "tpu-v5e": "tpu-v5e:2x4"}
PINNED = {
    "cpu": {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"},
    "h100": {"xla_gpu_autotune_level": 0},
    "tpu-v5e": {},
}
DUMPS = {
    "xla_dump_hlo_pass_re": ".*",
    "xla_dump_compact_gte": False,
    "xla_dump_hlo_as_text": True,
    "xla_dump_hlo_as_proto": True,
}


def compile_program(program: Program, target: str, folder: Path) -> None:
    """Compile one program with dumps; keep each distinct text with its proto, as `*.txt` and `*.hlo.pb`.

    The lowered and the compiled module are added as JAX prints them, with their own protos.
    """
    devices = find_target(target if program.devices == 1 else DEVICES[target]).devices()[: program.devices]
    mesh = Mesh(np.array(devices), ("i",))
    specs = program.specs or (P(),) * len(program.shapes)
    function = program.function
    if program.out_specs is not None:
        function = jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=program.out_specs)
    arguments = [
        jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))
        for (shape, dtype), spec in zip(program.shapes, specs, strict=True)
    ]
    # Only sharding constraints without a mesh of their own look for one here.
    context = jax.set_mesh(mesh) if program.name == "reshard" else contextlib.nullcontext()
    with context:
        lowered = jax.jit(function, donate_argnums=program.donate).lower(*arguments)
    executable = lowered.compile({**DUMPS, **PINNED[target], **program.options, "xla_dump_to": str(folder)})
    _keep_distinct(folder)
    module = executable.runtime_executable().hlo_modules()[0]
    (folder / "compiled.txt").write_text(executable.as_text(), newline="")
    (folder / "compiled.module.pb").write_bytes(module.as_serialized_hlo_module_proto())
    (folder / "lowered.txt").write_text(lowered.as_text("hlo"), newline="")
    (folder / "lowered_debug.txt").write_text(lowered.as_text("hlo", debug_info=True), newline="")
    (folder / "lowered_debug.module.pb").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())


def _keep_distinct(folder: Path) -> None:
    """Delete repeated texts, and files other than texts and protos of modules or memory plans."""
    texts: set[str] = set()
    kept_paths: set[Path] = set()
    for path in sorted(folder.glob("*.txt"), key=lambda path: path.stat().st_mtime_ns):
        text = path.read_text()
        is_needed = path.name.endswith(("-buffer-assignment.txt", "-live-range.txt", "_optimizations.txt"))
        if is_needed or (text.startswith("HloModule") and text not in texts):
            texts.add(text)
            kept_paths |= {path, path.with_suffix(".hlo.pb")}
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path not in kept_paths:
            path.unlink()


def main(folder: str, target: str) -> None:
    """Compile every program for a target into FOLDER/PROGRAM; the folder appears when all are compiled."""
    unfinished = Path(f"{folder}.tmp")
    for program in PROGRAMS:
        if target in program.targets:
            compile_program(program, target, unfinished / program.name)
    unfinished.rename(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
