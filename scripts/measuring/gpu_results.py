"""The results of programs on a GPU, compared with those of the same compiled modules on this machine's CPU.

On a machine with a GPU, `python scripts/measuring/gpu_results.py run FILE.zip` runs the programs of snippets/programs
that have an EXAMPLE, with random inputs, and stores their compiled modules and results. It needs JAX and this project.
`python scripts/measuring/gpu_results.py compare FILE.zip` then writes the record, on any machine.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

import stamps
from common import ROOT
from measuring.measure import find_programs
from measuring.run_stamp import today
from xla_inspect.compilation import find_function
from xla_inspect.errors import InspectError
from xla_inspect.evaluation import FACTOR_BITS, Evaluator
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_BYTES = 200 << 20
"""The size of inputs above which a program is left out."""

KEPT = 1 << 16
"""The number of elements of each output that are stored and compared; a hash covers all of them."""


def main() -> None:
    """Run the programs, or write the record of an earlier run."""
    parser = argparse.ArgumentParser(prog="scripts/measuring/gpu_results.py", description=__doc__)
    parser.add_argument("action", choices=("run", "compare"))
    parser.add_argument("file", type=Path, help="the archive of the run")
    options = parser.parse_args()
    if options.action == "run":
        try:
            [device, *_] = jax.devices("cuda")
        except RuntimeError as error:
            sys.exit(f"{parser.prog}: there is no GPU that JAX can use here: {error}")
        with zipfile.ZipFile(options.file, "w", zipfile.ZIP_DEFLATED) as archive:
            run_programs(archive, find_programs(), device)
        return
    with zipfile.ZipFile(options.file) as archive:
        run = json.loads(archive.read("run.json"))
        programs = compare_programs(archive, run["programs"])
    content = {"date": run["date"], "device": run["device"], "programs": programs}
    script = "uv run python scripts/measuring/gpu_results.py"
    stamps.write_sealed(ROOT / "docs/data/gpu-results.json", script, run["versions"], content)
    print("wrote docs/data/gpu-results.json")


def run_programs(archive: zipfile.ZipFile, names: Iterable[str], device: jax.Device) -> None:
    """Run each program twice on JAX's default device, and store its compiled module, the outputs, and their hashes."""
    programs: dict[str, Any] = {}
    for name in names:
        try:
            function, inputs = make_inputs(name)
            executable = jax.jit(function, keep_unused=True).lower(*inputs).compile()
            first, second = (jax.tree.leaves(executable(*inputs)) for _ in range(2))
            [module] = executable.runtime_executable().hlo_modules()  # type: ignore[union-attr]  # a GPU has modules
        except Exception as error:  # noqa: BLE001 - a program that fails here must not stop the others
            programs[name] = {"skipped": f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"}
            continue
        archive.writestr(f"{name}.hlo", module.to_string())
        for number, output in enumerate(first):
            archive.writestr(f"{name}.{number}.bin", np.asarray(output).ravel()[:KEPT].tobytes())
        hashes = [[_hash(np.asarray(output)) for output in outputs] for outputs in (first, second)]
        programs[name] = {"hashes": hashes[0], "repeats": hashes[0] == hashes[1]}
        print(name, flush=True)
    run = {
        "date": today(),
        "device": device.device_kind,
        "versions": {"jax": jax.__version__},
        "programs": programs,
    }
    archive.writestr("run.json", json.dumps(run))


def compare_programs(archive: zipfile.ZipFile, runs: dict[str, Any]) -> dict[str, Any]:
    """Run the compiled modules on this machine's CPU, and return their differences from the stored outputs.

    Returns:
        For each program, `evaluated`, the largest difference of an output, as a share of its largest magnitude;
        `rounded`, the same with factors of matmuls rounded here, too; and `repeats`, whether both runs of the GPU had
        the same bits. A difference is 0 only for equal bits. Or `skipped`, the reason why there is no difference.
    """
    programs: dict[str, Any] = {}
    with Evaluator() as evaluator:
        for name, run in runs.items():
            try:
                programs[name] = run if "skipped" in run else compare_program(archive, name, run, evaluator)
            except InspectError as error:
                programs[name] = {"skipped": str(error)}
            print(name, programs[name], flush=True)
    return programs


def compare_program(archive: zipfile.ZipFile, name: str, run: dict[str, Any], evaluator: Evaluator) -> dict[str, Any]:
    """Return the differences of one program.

    Raises:
        InspectError: The module does not run here, or a large constant is missing in its text.
    """
    text = archive.read(f"{name}.hlo").decode()
    if "constant({...})" in text:
        message = "the text of its module leaves out a large constant"
        raise InspectError(message)
    module = parse_module(text)
    arguments = [[np.asarray(leaf)] for leaf in jax.tree.leaves(make_inputs(name)[1])]
    shares = {}
    for kind, bits in (("evaluated", None), ("rounded", FACTOR_BITS["cuda"])):
        outputs = [shards[0] for shards in evaluator.run(module, arguments, factor_bits=bits)]
        stored = [archive.read(f"{name}.{number}.bin") for number in range(len(outputs))]
        shares[kind] = max(map(find_share, stored, run["hashes"], outputs), default=0.0)
    return {**shares, "repeats": run["repeats"]}


def find_share(stored: bytes, code: str, output: np.ndarray[Any, Any]) -> float:
    """Return the largest difference from the stored elements, as a share of their largest magnitude, with two digits.

    Args:
        stored: The first elements on the GPU.
        code: The hash of all of its elements.
        output: The output on this machine's CPU.
    """
    if _hash(output) == code:
        return 0.0
    kind = np.complex128 if output.dtype.kind == "c" else np.float64
    expected = np.frombuffer(stored, output.dtype).astype(kind)
    actual = output.ravel()[: expected.size].astype(kind)
    differs = ~((expected == actual) | (np.isnan(expected) & np.isnan(actual)))
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    return float(f"{np.abs(expected[differs] - actual[differs]).max(initial=0) / (largest or 1):.2g}")


def make_inputs(name: str) -> tuple[Any, Any]:
    """Return a program's function, and random inputs for its EXAMPLE: normal numbers, and integers below 8.

    Raises:
        InspectError: The inputs are too large.
    """
    program = find_function(importlib.import_module(f"programs.{name}"), name)
    leaves, tree = jax.tree.flatten(program.example)
    if sum(leaf.size * leaf.dtype.itemsize for leaf in leaves) > MOST_BYTES:
        message = "its inputs are too large"
        raise InspectError(message)
    generator = np.random.default_rng(0)
    return program.function, jax.tree.unflatten(tree, [_draw(leaf, generator) for leaf in leaves])


def _draw(leaf: Any, generator: np.random.Generator) -> jax.Array:  # noqa: ANN401 - a shape
    if jnp.issubdtype(leaf.dtype, jnp.floating):
        return jnp.asarray(generator.standard_normal(leaf.shape).astype(leaf.dtype))
    return jnp.asarray(generator.integers(0, 2 if leaf.dtype == bool else 8, leaf.shape).astype(leaf.dtype))


def _hash(output: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(output).tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    main()
