"""Compile programs under the JAX that is installed here and write down what came of it; needs no package but JAX.

    python -m releases.probe JOB.json

Run by the interpreter of each release's own environment. It uses public names of JAX that the releases of several
years share, dumps, and the compiler's log, and compiles with the settings of captures; what it writes is read by the
project's own environment.
"""

from __future__ import annotations

import gzip
import importlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from releases.dumped import read_dumps
from releases.public_names import list_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# What JAX and the compilers find besides what captures let them find: a log that names each pass.
ENVIRONMENT = {
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
    "TF_CPP_VMODULE": "hlo_pass_pipeline=1",
    "TF_CPP_MIN_LOG_LEVEL": "0",
}

UNKNOWN_OPTION = re.compile(r"No such compile option: '([^']*)'")


def main() -> None:
    """Do the job of a file: compile what it lists and has no result yet, and write the public names of JAX."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    out = Path(job["out"])
    os.environ |= {**ENVIRONMENT, "TPU_LOG_DIR": str(out / "tpu_logs")}
    (out / "tpu_logs").mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, job["snippets"])
    # It sets the rest of the environment, and imports no JAX.
    import xla_inspect  # noqa: F401

    names = out / "names.json"
    if not names.exists():
        write(names, list_names())
    check_libtpu()
    devices = Devices(job["figures"])
    for task in job["tasks"]:
        result = out / task["file"]
        if result.exists():
            continue
        # A compiler that crashes takes this process with it: what it was at stands here when it is started again.
        (out / "at.json").write_text(json.dumps(task), encoding="utf-8")
        print(json.dumps({"at": task["file"]}), flush=True)
        try:
            outcome = measure(task, devices)
        except Exception as error:  # noqa: BLE001 - whatever a release says is what is reported
            outcome = {"failed": describe(error)}
        write(result, outcome)
        (out / "at.json").unlink()


def check_libtpu() -> None:
    """Stop where another environment's libtpu would be loaded: its results would be those of another release."""
    import jax  # noqa: F401 - it decides which is loaded

    path = os.environ.get("TPU_LIBRARY_PATH", "")
    if path and not Path(path).is_relative_to(sys.prefix):
        sys.exit(f"TPU_LIBRARY_PATH is {path}, which does not belong to {sys.prefix}")


def write(path: Path, content: object) -> None:
    """Write JSON, compressed where the name says so, the whole or none."""
    from xla_inspect import store

    data = json.dumps(content).encode()
    store.write(path, gzip.compress(data, 3, mtime=0) if path.suffix == ".gz" else data)


def describe(error: BaseException) -> str:
    """Return the kind of an error and the first line of what it says, without what differs between machines."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    text = re.sub(r"(?:/[\w.@+-]+){2,}/", "", re.sub(r"0x[0-9a-f]+", "0x...", first))
    return f"{type(error).__name__}: {text}"[:300].rstrip(": ")


class Devices:
    """The devices of targets, to compile for."""

    def __init__(self, figures: Mapping[str, str]) -> None:
        """Keep the figures of GPUs: short name to the form that this release takes."""
        self.figures = figures
        self.known: dict[str, Sequence[Any]] = {}

    def find(self, target: str) -> Sequence[Any]:
        """Return the devices of a target, which may carry a topology: `h100:8`, `tpu-v5e:2x4`."""
        import jax
        from jax.experimental import topologies

        from xla_inspect import targets

        if target not in self.known:
            chosen = targets.find(target)
            if chosen.kind == "cpu":
                self.known[target] = jax.devices("cpu")[: int(chosen.topology or 1)]
            else:
                name, platform, options = targets.describe_topology(chosen, self.figures.get(chosen.base, ""))
                self.known[target] = topologies.get_topology_desc(name, platform, **options).devices
        return self.known[target]


def measure(task: Mapping[str, str], devices: Devices) -> dict[str, Any]:
    """Trace, lower and compile one program for one target, and return what is to be known of it."""
    import jax

    from xla_inspect.compilation import list_program_members

    module = importlib.import_module(f"programs.{task['program']}")
    program = list_program_members(module, task["program"])[task["member"]]
    example = program.example
    chosen = devices.find(task["target"])
    around = [jax.default_device(chosen[0])]
    options = dict(program.arguments)
    axes, specs = options.pop("mesh", None), options.pop("specs", None)
    if axes:
        example, around = spread(example, axes, specs, chosen)
    jitted: Any = program.function if hasattr(program.function, "lower") else jax.jit(program.function, **options)
    with around[0]:
        traced = jitted.trace(*example)
        lowered = traced.lower()
    folder = Path(tempfile.mkdtemp(prefix="xla_inspect_releases_"))
    try:
        with logged(folder / "log") as log:
            compiled, dropped = compile_with_dumps(lowered, task["kind"], folder / "dumps")
        counted, forms = count_equations(traced.jaxpr)
        return {
            "jaxpr": str(traced.jaxpr),
            "primitives": counted,
            "parameters": forms,
            "stablehlo": lowered.as_text(),
            "operations": list_operations(lowered),
            **read_dumps(folder / "dumps", log),
            "memory": read_memory(compiled),
            "cost": read_cost(compiled),
            "options_unknown": dropped,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def spread(
    example: tuple[Any, ...], axes: Mapping[str, int], specs: tuple[Any, ...] | None, devices: Sequence[Any]
) -> tuple[tuple[Any, ...], list[Any]]:
    """Return examples that lie on a mesh of devices, and the mesh to lower under."""
    import jax

    kinds = (jax.sharding.AxisType.Auto,) * len(axes)
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes), kinds, devices=devices)

    def place(spec: Any, arrays: Any) -> Any:  # noqa: ANN401 - any pytree
        sharding = jax.sharding.NamedSharding(mesh, spec)
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), arrays)

    if specs is not None:
        placed: tuple[Any, ...] = jax.tree.map(
            place, tuple(specs), example, is_leaf=lambda leaf: isinstance(leaf, jax.sharding.PartitionSpec)
        )
        example = placed
    enter = getattr(jax, "set_mesh", None) or getattr(jax.sharding, "use_mesh", None) or nullcontext
    return example, [enter(mesh)]


@contextmanager
def logged(path: Path) -> Iterator[Path]:
    """Let the process's standard error, which compilers write to themselves, go to a file."""
    sys.stderr.flush()
    stderr, file = os.dup(2), os.open(path, os.O_CREAT | os.O_WRONLY)
    os.dup2(file, 2)
    try:
        yield path
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(file)


def compile_with_dumps(lowered: Any, kind: str, folder: Path) -> tuple[Any, list[str]]:  # noqa: ANN401 - JAX's own
    """Compile with dumps, without the options that this release does not know; return it and their names."""
    from xla_inspect.compilation import PINNED, list_options

    asked = {**PINNED[kind], **list_options(kind, folder)}
    dropped: list[str] = []
    while True:
        try:
            return lowered.compile(compiler_options=asked), dropped
        except Exception as error:
            unknown = UNKNOWN_OPTION.search(str(error))
            if not unknown or unknown[1] not in asked:
                raise
            asked.pop(unknown[1])
            dropped.append(unknown[1])


def count_equations(jaxpr: Any) -> tuple[dict[str, int], dict[str, list[str]]]:  # noqa: ANN401 - JAX's own
    """Return how often each primitive occurs, those of inner jaxprs too, and the names of its parameters."""
    counted: Counter[str] = Counter()
    parameters: dict[str, set[str]] = {}
    waiting = [jaxpr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (tuple, list)):
            waiting += part
        elif hasattr(part, "eqns"):
            for equation in part.eqns:
                counted[equation.primitive.name] += 1
                parameters.setdefault(equation.primitive.name, set()).update(equation.params)
                waiting += equation.params.values()
        elif hasattr(part, "jaxpr"):
            waiting.append(part.jaxpr)
    return dict(sorted(counted.items())), {name: sorted(keys) for name, keys in sorted(parameters.items())}


def list_operations(lowered: Any) -> dict[str, list[str]]:  # noqa: ANN401 - JAX's own
    """Return each kind of operation of the lowered module with how often it occurs first, then its attributes."""
    counted: Counter[str] = Counter()
    attributes: dict[str, set[str]] = {}

    def visit(operation: Any) -> None:  # noqa: ANN401 - MLIR's own
        name = operation.name
        counted[name] += 1
        attributes.setdefault(name, set()).update(_name_attributes(operation.attributes))
        for region in operation.regions:
            for block in region:
                for inner in block:
                    visit(inner.operation)

    visit(lowered.compiler_ir("stablehlo").operation)
    return {name: [str(number), *sorted(attributes[name])] for name, number in sorted(counted.items())}


def _name_attributes(attributes: Any) -> Iterator[str]:  # noqa: ANN401 - MLIR's own
    """Yield the names of an operation's attributes: iterating gives pairs, or names, by the release."""
    for attribute in attributes:
        yield attribute if isinstance(attribute, str) else str(attribute.name)


def read_memory(compiled: Any) -> dict[str, int] | None:  # noqa: ANN401 - JAX's own
    """Return the bytes that the executable says it needs, by what for."""
    stats = compiled.memory_analysis()
    if stats is None:
        return None
    names = {
        "arguments": "argument_size_in_bytes",
        "outputs": "output_size_in_bytes",
        "aliased": "alias_size_in_bytes",
        "temporaries": "temp_size_in_bytes",
        "code": "generated_code_size_in_bytes",
        "peak": "peak_memory_in_bytes",
    }
    return {name: int(getattr(stats, attribute)) for name, attribute in names.items() if hasattr(stats, attribute)}


def read_cost(compiled: Any) -> dict[str, float] | None:  # noqa: ANN401 - JAX's own
    """Return the executable's cost analysis, or None where it has none (as on a GPU that is not there)."""
    counted = compiled.cost_analysis()
    if isinstance(counted, list):
        counted = counted[0] if counted else None
    return {name: float(counted[name]) for name in ("flops", "transcendentals") if name in counted} if counted else None


if __name__ == "__main__":
    main()
