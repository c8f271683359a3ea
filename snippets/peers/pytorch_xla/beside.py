"""What PyTorch/XLA says when it is imported beside this PyTorch, and what its source declares.

Prints it as JSON. `run.py` starts this, with the folder of PyTorch/XLA's package on the path: that package holds a copy
of torchax under the same name, and where both are installed, whichever comes last overwrites the other.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

# Modules of PyTorch/XLA's package whose functions are listed, by what they are for.
MODULES = {"torch_xla": "torch_xla/torch_xla.py", "spmd": "torch_xla/distributed/spmd/xla_sharding.py"}
SHOWN = {
    "torch_xla": ("device", "device_count", "sync", "step", "compile", "launch"),
    "spmd": ("Mesh", "mark_sharding", "clear_sharding"),
}
WIDTH = 80  # of a declaration's parameters, before each has a line of its own


def main() -> None:
    """Print the error, what the package says it needs, whether it holds torchax, and its declarations."""
    package = importlib.metadata.distribution("torch_xla")
    run = subprocess.run([sys.executable, "-c", "import torch_xla"], capture_output=True, text=True, check=False)
    found = {
        "version": package.version,
        "error": run.stderr.strip().splitlines()[-1] if run.returncode else "imported",
        "needs": [need for need in package.requires or [] if re.match(r"(torch|jax)\b", need)],
        "holds torchax": any(str(file) == "torchax/__init__.py" for file in package.files or []),
        "declarations": {name: signatures(path, SHOWN[name]) for name, path in MODULES.items()},
    }
    sys.stdout.write(json.dumps(found))


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


if __name__ == "__main__":
    main()
