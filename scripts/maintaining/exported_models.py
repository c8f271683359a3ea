"""The programs that frameworks exported, in `snippets/exported`, and their record, `docs/data/exported-models.json`.

`uv run python scripts/maintaining/exported_models.py` installs each framework into an environment of its own, and lets
its exporter write the programs of the models next to this project's copies of the models. The Julia program is written
by hand.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

PACKAGES = {
    "torch": ("torch", "torchax>=0.0.14.dev0"),  # release 0.0.13 does not work with PyTorch 2.15
    "keras": ("keras",),
    "tensorflow": ("tensorflow-cpu",),
}
RECORDED = {"torch", "torchax", "keras", "tensorflow-cpu", "jax"}
"""The packages whose versions the record has."""
PROGRAMS = {
    "torch_block.mlir": "torch_block.py:block",
    "torch_block.jaxexport": "torch_block.py",
    "keras_classifier.jaxexport": "keras_classifier.py",
    "tensorflow_words.mlir": "tensorflow_words.py:words",
}
"""The model of each file: `FILE:NAME` is exported as `xla-inspect` does it, and `FILE` is run and exports itself."""


def write_text(model: str, path: Path) -> None:
    """Write a model's program as `xla-inspect` compiles it, with the lines of the model alone."""
    import jax

    from xla_inspect import jax_private
    from xla_inspect.subject import Request, read_function

    call = read_function(Request((model,))).call
    assert call is not None  # noqa: S101 - a model has one
    files = [__file__, *(str(sys.modules[name].__file__) for name in ("torch", "torchax") if name in sys.modules)]
    for file in files:
        jax_private.hide_frames_of(str(Path(file).parent))
    jax.config.update("jax_include_full_tracebacks_in_locations", val=False)
    function = call.function if hasattr(call.function, "lower") else jax.jit(call.function)
    module = function.lower(*call.args, **call.kwargs).compiler_ir("stablehlo")
    text = module.operation.get_asm(enable_debug_info=True)
    path.write_text(text.replace("@jit_call", f"@jit_{model.rpartition(':')[2]}"), encoding="utf-8")


def export(framework: str) -> None:
    """Write the programs of one installed framework to the working folder, and print the versions as JSON."""
    for name, model in PROGRAMS.items():
        if model.startswith(framework):
            if ":" in model:
                write_text(model, Path(name))
            else:
                subprocess.run([sys.executable, Path(model).resolve()], check=True)
    versions = {part.metadata["Name"].lower().replace("_", "-"): part.version for part in distributions()}
    print(json.dumps({name: version for name, version in versions.items() if name in RECORDED}))


def hash_files(folder: Path) -> dict[str, str]:
    """Return the hashes of all models and programs in a folder that frameworks exported, by name."""
    files = sorted(path for path in folder.iterdir() if path.name in {*PROGRAMS} or path.suffix == ".py")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def record() -> None:
    """Write the programs with all frameworks, and the record of their hashes."""
    # These are imported here because the exporters run this file in environments that do not contain them.
    import stamps
    from common import ROOT

    folder, versions = ROOT / "snippets" / "exported", dict[str, str]()
    # Locations contain no folders of this machine.
    places = {"JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX": f"{ROOT}/|.*/site-packages/", "KERAS_BACKEND": "jax"}
    for framework, packages in PACKAGES.items():
        words = [f"--with={package}" for package in (*packages, "jax", "flatbuffers")]
        command = ["uv", "run", "--no-project", "--isolated", f"--python={sys.executable}", *words, "python", __file__]
        variables = {**os.environ, **places, "PYTHONPATH": str(ROOT / "snippets")}
        process = subprocess.run(
            [*command, framework], check=True, stdout=subprocess.PIPE, text=True, cwd=folder, env=variables
        )
        versions |= json.loads(process.stdout.splitlines()[-1])
    about = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "programs": PROGRAMS,
        "hashes": hash_files(folder),
    }
    script = "uv run python scripts/maintaining/exported_models.py"
    stamps.write_sealed(ROOT / "docs" / "data" / "exported-models.json", script, versions, about)


if __name__ == "__main__":
    if sys.argv[1:]:
        export(sys.argv[1])
    else:
        record()
