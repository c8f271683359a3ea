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
#   "torch-xla==2.9.0",
#   "torchax==0.0.13",
#   "typing-extensions==4.16.0",
#   "urllib3==2.8.0",
# ]
# ///
"""PyTorch on XLA: what PyTorch/XLA offers, why it cannot be imported here, and torchax, which can with a shim."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

os.environ.update(OMP_NUM_THREADS="1", JAX_PLATFORMS="cpu")
os.environ["XLA_FLAGS"] = (
    "--xla_disable_hlo_passes=cpu-parallel-task-assigner"  # it splits work over the cores there are
)

import jax

from peers import given
from peers.pytorch_xla import shim
from peers.recording import Recording
from peers.torch import layers

# Modules of PyTorch/XLA's package whose functions are listed, by what they are for.
MODULES = {"torch_xla": "torch_xla/torch_xla.py", "spmd": "torch_xla/distributed/spmd/xla_sharding.py"}
SHOWN = {
    "torch_xla": ("device", "device_count", "sync", "step", "compile", "launch"),
    "spmd": ("Mesh", "mark_sharding", "clear_sharding"),
}
LOCATIONS = {
    r", metadata=\{[^}]*\}": "",
    r", backend_config=\{.*\}": "",
    r"(?m)^(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d.*\n)*\n": "",
    r"\n{3,}": "\n\n",
}
WIDTH = 80  # of a declaration's parameters, before each has a line of its own
FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})


def main() -> None:
    """Write the record."""
    recording = Recording("pytorch_xla")
    for package in ("torch_xla", "torchax"):
        recording.text(f"{package}/import", import_error(package), {r"/\S+/(_XLAC\.)": r"\1"})
    recording.facts["needs"] = {
        package: [need for need in importlib.metadata.requires(package) or [] if re.match(r"(torch|jax)\b", need)]
        for package in ("torch_xla", "torchax")
    }
    for name, path in MODULES.items():
        recording.text(f"{name}/signatures", signatures(path, SHOWN[name]))
    with_shim(recording)
    recording.write()


def import_error(package: str) -> str:
    """Return what Python says on importing a package, in a process of its own."""
    run = subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True, text=True, check=False)
    return run.stderr.strip().splitlines()[-1] if run.returncode else "imported"


def signatures(path: str, names: tuple[str, ...]) -> str:
    """Return how a module of a package that cannot be imported declares some of its functions, from its source."""
    file = importlib.metadata.distribution("torch_xla").locate_file(path)
    found = {}
    for node in ast.parse(Path(str(file)).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            found[node.name] = declare(node)
    return "\n\n".join(found[name] for name in names)


def declare(node: ast.FunctionDef | ast.ClassDef) -> str:
    """Return a function's or a class's head, and the first sentence of what it says of itself."""
    said = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    functions = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    made = node if isinstance(node, ast.FunctionDef) else functions[0]
    parameters = ast.unparse(made.args).removeprefix("self, ")
    returned = f" -> {ast.unparse(made.returns)}" if made.returns else ""
    kind = "class" if made is not node else "def"
    if len(parameters) > WIDTH:
        parameters = "\n    " + re.sub(r", (?=\w+: )", ",\n    ", parameters) + ",\n"
    return f"{kind} {node.name}({parameters}){returned}:\n    # {re.split(r'(?<=[.]) ', said)[0]}"


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
