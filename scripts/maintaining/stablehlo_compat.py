"""The record of the JAX releases that can read each other's StableHLO files, `docs/data/stablehlo-readers.json`.

`uv run python scripts/maintaining/stablehlo_compat.py` installs each release into an environment of its own, writes the
same programs with each, and reads every file with each. It also stores the oldest release's file of the dense layer,
for a page.
"""

from __future__ import annotations

import datetime as dt
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RELEASES = ("0.4.35", "0.6.0", "0.12.0.1")
OLD = "1.0.0"


def write(folder: Path) -> None:
    """Write each program with the running JAX: in its own and an old version of StableHLO, and with `jax.export`."""
    import jax
    import jax.numpy as jnp
    from jax import export
    from jaxlib.mlir.dialects import stablehlo

    def layer(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
        return jax.nn.relu(x @ w + b)

    def softmax(x: jax.Array) -> jax.Array:
        shifted = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
        return shifted / jnp.sum(shifted, axis=-1, keepdims=True)

    def shape(*sizes: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(sizes, jnp.float32)

    programs: dict[str, tuple[Any, tuple[jax.ShapeDtypeStruct, ...]]] = {
        "layer": (layer, (shape(64, 128), shape(128, 256), shape(256))),
        "softmax": (softmax, (shape(128, 1024),)),
    }
    for name, (function, example) in programs.items():
        lowered = jax.jit(function).lower(*example)
        module: Any = lowered.compiler_ir("stablehlo")
        located = module.operation.get_asm(enable_debug_info=True)
        texts = {name: lowered.as_text(), f"{name} with source locations": located}
        for title, text in texts.items():
            for version in (stablehlo.get_current_version(), OLD):
                artifact = stablehlo.serialize_portable_artifact_str(text, version)
                (folder / f"{jax.__version__}|{title}|StableHLO {version}").write_bytes(artifact)
        file = export.export(jax.jit(function))(*example).serialize()
        (folder / f"{jax.__version__}|{name}|jax.export").write_bytes(file)


def read_files(folder: Path) -> None:
    """Print the files that the running JAX can read, as JSON."""
    import jax
    from jax import export
    from jax.interpreters import mlir
    from jaxlib.mlir.dialects import stablehlo

    readable = []
    for file in sorted(folder.iterdir()):
        try:
            if file.name.endswith("jax.export"):
                export.deserialize(bytearray(file.read_bytes()))
            else:
                context = mlir.make_ir_context()
                stablehlo.register_dialect(context)
                stablehlo.deserialize_portable_artifact(context, file.read_bytes())
            readable.append(file.name)
        except Exception:  # noqa: BLE001, S112 - each release has its own errors for files it cannot read
            continue
    print(json.dumps({"version": jax.__version__, "stablehlo": stablehlo.get_current_version(), "reads": readable}))


def run_step(release: str, step: str, folder: Path) -> str:
    """Run one step of this file under a release of JAX, and return its output."""
    packages = [f"--with={package}" for package in (f"jax=={release}", f"jaxlib=={release}", "flatbuffers", "absl-py")]
    command = ["uv", "run", "--no-project", "--isolated", f"--python={sys.executable}", *packages, "python", __file__]
    process = subprocess.run([*command, step, str(folder)], check=True, stdout=subprocess.PIPE, text=True)
    return process.stdout


def record() -> None:
    """Write the files with every release, read them with every release, and record the results."""
    # These are imported here because the steps run this file in environments that do not contain them.
    import stamps
    from common import ROOT

    data = ROOT / "docs" / "data"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for release in RELEASES:
            run_step(release, "write", folder)
        readers = [json.loads(run_step(release, "read", folder).splitlines()[-1]) for release in RELEASES]
        files = sorted(file.name for file in folder.iterdir())
        [oldest] = folder.glob(f"{RELEASES[0]}|layer|StableHLO 1.7.*")
        (data / f"layer-jax-{RELEASES[0]}.mlirbc").write_bytes(oldest.read_bytes())
    rows = [
        dict(zip(("writer", "program", "file"), file.split("|"), strict=True))
        | {"read_by": [reader["version"] for reader in readers if file in reader["reads"]]}
        for file in files
    ]
    about = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "stablehlo": {reader["version"]: reader["stablehlo"] for reader in readers},
        "files": rows,
    }
    script = "uv run python scripts/maintaining/stablehlo_compat.py"
    stamps.write_sealed(data / "stablehlo-readers.json", script, {"jax": RELEASES[-1]}, about)


if __name__ == "__main__":
    steps = {"write": write, "read": read_files}
    if sys.argv[1:]:
        steps[sys.argv[1]](Path(sys.argv[2]))
    else:
        record()
