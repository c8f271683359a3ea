"""Real files of each kind that the page opens or for which it names a command, under names that need quotation."""

from __future__ import annotations

import gzip
import pickle
import shutil
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import export
from jax.experimental import serialize_executable

if TYPE_CHECKING:
    from pathlib import Path

AWKWARD = "it's <img src=x onerror=document.title=1>  x"
"""A name that is dangerous as HTML, needs quotation in a shell, and contains two spaces in a row."""


def opened_step(x: jax.Array) -> jax.Array:
    """Return a matrix from a matrix."""
    return jnp.tanh(x) @ jnp.sin(x)


def earlier_step(x: jax.Array) -> jax.Array:
    """Return a matrix from a matrix."""
    return jnp.cos(x)


def write_kinds(folder: Path) -> None:
    """Write the files into a folder."""
    contents: dict[str, str | bytes] = {}
    shape = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    with jax.default_device(jax.devices("cpu")[0]):
        x, run = jnp.ones(shape.shape), jax.jit(opened_step)
        # A profile also holds the programs that ran before it.
        jax.jit(earlier_step)(run(x)).block_until_ready()
        with jax.profiler.trace(str(folder / "profile")):
            run(x).block_until_ready()
    (profile,) = (folder / "profile").rglob("*.xplane.pb")
    (trace,) = (folder / "profile").rglob("*.trace.json.gz")
    contents |= {f"{AWKWARD}.xplane.pb": profile.read_bytes(), "vm.trace.json.gz": trace.read_bytes()}
    contents["cut.xplane.pb"] = profile.read_bytes()[:-500]
    lowered = run.lower(shape)
    compiled = lowered.compile(compiler_options={"xla_dump_to": str(folder / "dump"), "xla_dump_hlo_as_text": True})
    for file in (folder / "dump").iterdir():
        for part in ("buffer-assignment.txt", "live-range.txt", "memory-usage-report.txt"):
            contents |= {f"my {part}": file.read_bytes()} if file.name.endswith(part) else {}
    payload = serialize_executable.serialize(run.lower(shape).compile())
    contents |= {"step.bin": payload[0], "step.pkl.gz": gzip.compress(pickle.dumps(payload))}
    text, program = str(compiled.as_text()), lowered.as_text()
    contents |= {
        "issue.md": f"It is slow:\n\n```hlo\n{text}```\nThanks\n",
        "notebook.txt": f"Out[1]: {text!r}\n",
        "run.log": "I1127 02:51:06.9 1 a.cc:1] start\n"
        + "".join(f"I1127 02:51:07.{at:06} 98 hlo.cc:9] {line}\n" for at, line in enumerate(text.rstrip().split("\n"))),
        "cut.hlo": text[: text.rindex("ROOT")],
    }
    exported = export.export(run)(shape)
    contents |= {f"{AWKWARD}.mlir": program, "step.vhlo": exported.mlir_module_serialized}
    contents |= {"exported": bytes(exported.serialize()), "step.mlir.gz": gzip.compress(program.encode())}
    contents |= {"net.onnx": b"\x08\x07\x12\x07pytorch", "net.tflite": b"\x1c\0\0\0TFL3\x14\0"}
    contents["graph.dot"] = 'digraph G {\nlabel = "HloModule jit_step";\n}\n'
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    for name in ("net/saved_model.pb", "net/variables/variables.index"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"\x08\x01\x12\x04")
    for name in (f"{AWKWARD}.xplane.pb", f"{AWKWARD}.mlir", "my live-range.txt", "net.onnx"):
        shutil.copy(folder / name, folder / "dump")
    shutil.make_archive(str(folder / "mixed"), "zip", folder / "dump")
