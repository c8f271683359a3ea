# /// script
# requires-python = "==3.11.*"
# dependencies = [
#   "absl-py==2.5.1",
#   "certifi==2026.10.18",
#   "charset-normalizer==3.5.2",
#   "filelock==4.2.11",
#   "fsspec==2026.9.0",
#   "idna==3.20",
#   "jax==0.10.2",
#   "jaxlib==0.10.2",
#   "jinja2==3.1.6",
#   "markupsafe==3.0.4",
#   "ml-dtypes==0.6.0",
#   "mpmath==1.3.0",
#   "networkx==3.6.1",
#   "numpy==2.4.6",
#   "opt-einsum==3.4.0",
#   "pyyaml==6.0.3",
#   "requests==2.34.2",
#   "scipy==1.17.1",
#   "setuptools==84.2.1",
#   "sympy==1.14.0",
#   "torch==2.13.0+cpu",
#   "torchax==0.0.13",
#   "typing-extensions==4.16.0",
#   "urllib3==2.8.0",
# ]
# ///
"""PyTorch on XLA: what PyTorch/XLA offers, why it cannot be imported here, and torchax, which can with a shim."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

os.environ.update(OMP_NUM_THREADS="1", JAX_PLATFORMS="cpu")
# The pass splits work over the cores that there are.
os.environ["XLA_FLAGS"] = "--xla_disable_hlo_passes=cpu-parallel-task-assigner"

import jax

from peers import given
from peers.pytorch_xla import shim
from peers.recording import Recording, run_child
from peers.torch import layers

TORCH_XLA = "torch-xla==2.9.0"
LOCATIONS = {
    r", metadata=\{[^}]*\}": "",
    r", backend_config=\{.*\}": "",
    r"(?m)^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d.*\n)*\n": "",
    r"\n{3,}": "\n\n",
}
FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})


def main() -> None:
    """Write the record."""
    recording = Recording("pytorch_xla")
    run = subprocess.run([sys.executable, "-c", "import torchax"], capture_output=True, text=True, check=False)
    recording.text("torchax/import", run.stderr.strip().splitlines()[-1] if run.returncode else "imported")
    torch_xla = beside()
    recording.text("torch_xla/import", torch_xla.pop("error"), {r"/\S+/(_XLAC\.)": r"\1"})
    for name, text in torch_xla.pop("declarations").items():
        recording.text(f"{name}/signatures", text)
    recording.facts["torch_xla"] = torch_xla
    with_shim(recording)
    recording.write()


def beside() -> dict[str, Any]:
    """Return what PyTorch/XLA does beside this PyTorch, from a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        install = ("pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", folder, TORCH_XLA)
        run_child(os.environ.get("UV", "uv"), *install)
        script = Path(__file__).resolve().with_name("beside.py")
        return dict(json.loads(run_child(sys.executable, script, PYTHONPATH=folder).stdout))


def with_shim(recording: Recording) -> None:
    """Record the four programs of the `torch` script, traced by torchax and compiled by JAX."""
    with shim.missing_operations() as names:
        import torchax
        from torchax import interop

        torchax.default_env()
    recording.facts["shim"] = sorted(set(names))
    for program, function in layers.PROGRAMS.items():
        arguments = [jax.numpy.asarray(array) for array in given.inputs(program).values()]
        lowered = jax.jit(interop.jax_view(function)).lower(*arguments)
        compiled = lowered.compile()
        text = compiled.as_text() or ""
        recording.program(program, kernels(text), compiled(*arguments))
        if program == "layer":
            recording.text("layer/stablehlo", lowered.as_text())
            recording.text("layer/optimized_hlo", text, LOCATIONS)


def kernels(text: str) -> list[str]:
    """Return the names of what an optimized module launches: its entry, without what only names or passes a buffer."""
    entry = text[text.index("\nENTRY ") :]
    found = re.findall(r"(?m)^  (?:ROOT )?%?([\w.-]+) = .*? ([a-z][\w-]*)\(", entry)
    return [name for name, opcode in found if opcode not in FREE]


if __name__ == "__main__":
    main()
