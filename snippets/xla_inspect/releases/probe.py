"""Compile programs under the JAX that is installed here, and leave what came of it in folders; stands alone.

    python probe.py JOB.json

The interpreter of each release's own environment runs this file, so it imports nothing but JAX, keeps to what JAX has
offered for years, and to Python 3.9. What it leaves is read by the Python that started it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import mmap
import os
import re
import statistics
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

UNKNOWN_OPTION = re.compile(r"No such compile option: '([^']*)'")
LARGE = 1 << 20
MOST_SECONDS, MOST_RUNS, FEWEST_RUNS = 5.0, 30, 3
"""For how long a program is run and how often at most, and how often at least, where its time is asked for."""


def main() -> None:
    """Do the tasks of a job that have no result yet; each says the folder for what comes of it."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    flags = {name: value for name, value in job["flags"].items() if is_known(name)}
    os.environ["XLA_FLAGS"] = " ".join(f"--{name}={value}" for name, value in flags.items())
    for folder in job["paths"]:
        put_on_path(folder)
    if job.get("needs_libtpu"):
        check_libtpu()
    for task in job["tasks"]:
        folder = Path(task["folder"])
        result = folder / "result.json"
        if result.exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        say({"at": task["id"]})
        begin("loading")
        with logged(folder / "log"):
            try:
                outcome = time_runs(task) if task.get("runs") else measure(task, folder)
            except Exception as error:  # noqa: BLE001 - whatever a release says is what is reported
                outcome = {**describe(error, task), "stage": STAGE[0]}
        # The whole or none, whenever this process ends.
        unfinished = folder / "result.json.tmp"
        unfinished.write_text(json.dumps(outcome), encoding="utf-8")
        unfinished.replace(result)
        say({"done": task["id"]})


STAGE = ["loading"]
"""What is done at the moment, so that who started this process knows it when the compiler ends it."""


def begin(stage: str) -> None:
    """Say what is done from now on."""
    STAGE[0] = stage
    say({"stage": stage})


def say(message: Mapping[str, str]) -> None:
    """Tell the process that started this one."""
    print(json.dumps(message), file=TOLD, flush=True)


TOLD = os.fdopen(os.dup(1), "w")
"""The standard output as it was: what the reader's code prints goes with the log."""


def is_known(flag: str) -> bool:
    """Return whether this release's XLA knows a flag: it ends the process at one that it does not know."""
    spec = importlib.util.find_spec("jaxlib")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for path in (path for folder in folders for path in Path(folder).rglob("*") if path.suffix in {".so", ".dylib"}):
        if path.stat().st_size > LARGE:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as code:
                if code.find(flag.encode()) >= 0:
                    return True
    return False


def put_on_path(folder: str) -> None:
    """Let modules of a folder be imported before installed ones, and after those of the standard library."""
    at = next((at for at, place in enumerate(sys.path) if "site-packages" in place), len(sys.path))
    sys.path.insert(at, folder)


def check_libtpu() -> None:
    """Stop where another environment's libtpu would be loaded: its results would be those of another release."""
    import jax  # noqa: F401 - it decides which is loaded

    path = os.environ.get("TPU_LIBRARY_PATH", "")
    if path and not Path(path).resolve().is_relative_to(Path(sys.prefix).resolve()):
        sys.exit(f"TPU_LIBRARY_PATH is {path}, which does not belong to {sys.prefix}")


@contextmanager
def logged(path: Path) -> Iterator[None]:
    """Let what the process prints, and compilers write to its standard error themselves, go to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    file = os.open(str(path), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    before = [os.dup(number) for number in (1, 2)]
    for number in (1, 2):
        os.dup2(file, number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, old in zip((1, 2), before):  # noqa: B905 - Python 3.9 has no such argument
            os.dup2(old, number)
            os.close(old)
        os.close(file)


def describe(error: BaseException, task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kind of an error, the first line of what it says, and the line of the reader's file it came from."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    place, step = "", error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if task.get("root") and file.startswith(task["root"]) and "site-packages" not in file:
            place = f"{os.path.relpath(file, task['root'])}:{step.tb_lineno}"
        step = step.tb_next
    return {"failed": f"{type(error).__name__}: {first}"[:2000].rstrip(": "), "place": place}


class Called:
    """A function, what it is called with, and how: options of `jax.jit`, mesh and specs."""

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> None:
        """Keep them."""
        self.function, self.args, self.kwargs, self.settings = function, args, dict(kwargs), dict(settings)


def load(task: Mapping[str, Any]) -> Called:
    """Return what a task is about, found in the reader's code, called as the options say."""
    called = find(task)
    function, args = called.function, called.args
    if task.get("vmap"):
        function, args = _map_over(function, args, task["vmap"])
    if task.get("grad"):
        function = _differentiate(function)
    settings = {**called.settings, **task.get("jit", {})}
    if task.get("mesh"):
        settings["mesh"] = task["mesh"]
    return Called(function, args, called.kwargs, settings)


def find(task: Mapping[str, Any]) -> Called:
    """Return the function that a task names, or one that its file lists, with its arguments."""
    module, name = load_module(task), task["name"]
    listed = getattr(module, "PROGRAMS", {})
    if name in listed:
        entry = listed[name]
        function, example = entry if isinstance(entry, tuple) else (entry.function, entry.example)
        settings = {**getattr(module, "ARGUMENTS", {}), **getattr(entry, "arguments", {})}
        return Called(function, tuple(example), {}, settings)
    function = reduce(getattr, name.split("."), module)
    if isinstance(function, type):
        function = function()
    settings = dict(getattr(module, "ARGUMENTS", {}))
    if task.get("layout"):
        settings = dict(module.LAYOUTS[task["layout"]])
    if task.get("args") is not None:
        return Called(function, tuple(make_shape(*each) for each in task["args"]), {}, settings)
    if task.get("args_from"):
        made = make_arguments(task)
        return Called(function, made if isinstance(made, tuple) else (made,), {}, settings)
    return Called(function, tuple(getattr(module, "EXAMPLE", ())), getattr(module, "EXAMPLE_KWARGS", {}), settings)


def load_module(task: Mapping[str, Any]) -> ModuleType:
    """Return the module of a task: a file's, under its own name unless that is another's, or one of a package."""
    if not task["file"]:
        return importlib.import_module(task["module"])
    if task["module"]:
        return importlib.import_module(task["module"])
    path = Path(task["file"])
    taken = path.stem in sys.modules or path.stem in getattr(sys, "stdlib_module_names", ())
    name = f"_xla_inspect_{path.stem}" if taken else path.stem
    spec = importlib.util.spec_from_file_location(name, str(path))
    assert spec and spec.loader  # noqa: PT018, S101 - it is a Python file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def make_shape(dtype: str, sizes: Sequence[int]) -> Any:
    """Return an argument of a type and a shape, where `key` is a PRNG key."""
    import jax
    import jax.numpy as jnp

    if dtype.startswith("key"):
        return jax.ShapeDtypeStruct(tuple(sizes), jax.eval_shape(lambda: jax.random.key(0)).dtype)
    return jax.ShapeDtypeStruct(tuple(sizes), jnp.dtype(getattr(jnp, dtype, dtype)))


def make_arguments(task: Mapping[str, Any]) -> Any:
    """Return the shapes of what a function of the reader's makes."""
    import jax

    source = {**task, **task["args_from"]}
    make: Any = reduce(getattr, source["name"].split("."), load_module(source))
    try:
        return jax.eval_shape(make)
    except TypeError:
        # What is no array is told from the shapes of arrays only where the function runs.
        return make()


def _map_over(function: Any, args: tuple[Any, ...], size: int) -> tuple[Any, tuple[Any, ...]]:
    import jax
    import jax.numpy as jnp

    def widen(leaf: Any) -> Any:
        return jax.ShapeDtypeStruct((size, *jnp.shape(leaf)), getattr(leaf, "dtype", None) or jnp.result_type(leaf))

    return _named_as(jax.vmap(function), function), jax.tree_util.tree_map(widen, args)


def _differentiate(function: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def total(*args: Any, **kwargs: Any) -> Any:
        results = jax.tree_util.tree_leaves(function(*args, **kwargs))
        floats = [leaf for leaf in results if jnp.issubdtype(leaf.dtype, jnp.inexact)]
        return floats[0] if len(results) == 1 and not floats[0].shape else sum(jnp.sum(leaf) for leaf in floats)

    return _named_as(jax.grad(total, allow_int=True), function)


def _named_as(function: Any, original: Any) -> Any:
    function.__name__ = getattr(original, "__name__", type(original).__name__)
    return function


def abstract(leaf: Any) -> Any:
    """Return the shape and dtype of an array, and anything else as it is."""
    import jax

    if isinstance(leaf, jax.ShapeDtypeStruct) or not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)


def find_devices(task: Mapping[str, Any]) -> Sequence[Any]:
    """Return the devices of a task's target: this machine's CPU, or those of a topology that need not be here."""
    import jax

    devices: Sequence[Any]
    if task["kind"] == "cpu":
        devices = jax.devices("cpu")
        return devices[: task["devices"]] if task["devices"] else devices
    from jax.experimental import topologies

    name, platform, options = task["topology"]
    devices = topologies.get_topology_desc(name, platform, **options).devices
    return devices


def jit(called: Called) -> tuple[Any, dict[str, Any]]:
    """Return the function jitted, and what of its settings is about a mesh."""
    import jax

    settings = dict(called.settings)
    around: dict[str, Any] = {name: settings.pop(name) for name in ("mesh", "specs") if name in settings}
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
    jitted = called.function if hasattr(called.function, "lower") else jax.jit(called.function, **options)
    return jitted, around


def measure(task: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Trace, lower and compile a program, leave the dumps in a folder, and return what else is to be known of it."""
    import jax

    with suppress(AttributeError):
        jax.config.update("jax_hlo_source_file_canonicalization_regex", task["prefix"])
    called = load(task)
    devices = find_devices(task)
    begin("tracing")
    jitted, around = jit(called)
    args, kwargs = jax.tree_util.tree_map(abstract, (called.args, called.kwargs))
    enter: Any = lambda: jax.default_device(devices[0])  # noqa: E731 - a mesh takes its place below
    if around.get("mesh"):
        if task["kind"] == "cpu":
            devices = devices[: reduce(lambda product, size: product * size, around["mesh"].values(), 1)]
        args, enter = spread(args, around["mesh"], around.get("specs"), devices)
    started = time.perf_counter()
    with enter():
        traced = jitted.trace(*args, **kwargs) if hasattr(jitted, "trace") else None
        tracing = time.perf_counter() - started
        lowered = traced.lower() if traced is not None else jitted.lower(*args, **kwargs)
    lowering = time.perf_counter() - started - tracing
    jaxpr = traced.jaxpr if traced is not None else None
    begin("compiling")
    started = time.perf_counter()
    compiled, dropped = compile_with_dumps(lowered, {**task["options"], "xla_dump_to": str(folder / "dumps")})
    compiling = time.perf_counter() - started
    for _ in range(task.get("timed", 0)):
        # Without dumps, which take time of their own, and anew: JAX keeps what it compiled.
        jax.clear_caches()
        with enter():
            again = jitted.lower(*args, **kwargs)
        started = time.perf_counter()
        compile_with_dumps(again, task["plain_options"])
        compiling = min(compiling, time.perf_counter() - started)
    counted, forms = count_equations(jaxpr)
    return {
        "jaxpr": str(jaxpr) if jaxpr is not None else "",
        "primitives": counted,
        "parameters": forms,
        "stablehlo": lowered.as_text(),
        "operations": list_operations(lowered),
        "memory": read_memory(compiled),
        "cost": read_cost(compiled),
        "options_unknown": dropped,
        "seconds": [tracing, lowering, compiling],
    }


def spread(
    args: tuple[Any, ...],
    axes: Mapping[str, int],
    specs: Any,
    devices: Sequence[Any],
) -> tuple[tuple[Any, ...], Any]:
    """Return examples that lie on a mesh of devices, and what enters the mesh to lower under."""
    import jax

    sharding = jax.sharding
    kinds = (sharding.AxisType.Auto,) * len(axes) if hasattr(sharding, "AxisType") else ()
    shape, names = tuple(axes.values()), tuple(axes)
    if hasattr(jax, "make_mesh"):
        mesh = jax.make_mesh(shape, names, *([kinds] if kinds else []), devices=devices)
    else:
        from jax.experimental import mesh_utils

        mesh = sharding.Mesh(mesh_utils.create_device_mesh(shape, devices), names)

    def place(spec: Any, arrays: Any) -> Any:
        along = sharding.NamedSharding(mesh, spec)
        return jax.tree_util.tree_map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=along), arrays)

    if specs is not None:
        args = jax.tree_util.tree_map(
            place, tuple(specs), args, is_leaf=lambda leaf: isinstance(leaf, sharding.PartitionSpec)
        )
    use: Any = getattr(jax, "set_mesh", None) or getattr(sharding, "use_mesh", None)
    return args, lambda: use(mesh) if use else mesh


def compile_with_dumps(lowered: Any, options: Mapping[str, Any]) -> tuple[Any, list[str]]:
    """Compile with dumps, without the options that this release does not know; return it and their names."""
    asked, dropped = dict(options), list[str]()
    while True:
        try:
            return lowered.compile(compiler_options=asked), dropped
        except Exception as error:
            unknown = UNKNOWN_OPTION.search(str(error))
            if not unknown or unknown.group(1) not in asked:
                raise
            asked.pop(unknown.group(1))
            dropped.append(unknown.group(1))


def count_equations(jaxpr: Any) -> tuple[dict[str, int], dict[str, list[str]]]:
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


def list_operations(lowered: Any) -> dict[str, list[str]]:
    """Return each kind of operation of the lowered module with how often it occurs first, then its attributes."""
    counted: Counter[str] = Counter()
    attributes: dict[str, set[str]] = {}
    waiting = [lowered.compiler_ir("stablehlo").operation]
    while waiting:
        operation = waiting.pop()
        counted[operation.name] += 1
        attributes.setdefault(operation.name, set()).update(_name_attributes(operation.attributes))
        waiting += [inner.operation for region in operation.regions for block in region for inner in block]
    return {name: [str(number), *sorted(attributes[name])] for name, number in sorted(counted.items())}


def _name_attributes(attributes: Any) -> Iterator[str]:
    """Yield the names of an operation's attributes: iterating gives pairs, or names, by the release."""
    for attribute in attributes:
        yield attribute if isinstance(attribute, str) else str(attribute.name)


def read_memory(compiled: Any) -> dict[str, int] | None:
    """Return the bytes that the executable says it needs, by what for; None where the release cannot say."""
    try:
        stats = compiled.memory_analysis()
    except Exception:  # noqa: BLE001 - whatever a release says is what is reported
        return None
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


def read_cost(compiled: Any) -> dict[str, float] | None:
    """Return the executable's cost analysis, or None where it has none (as on a GPU that is not there)."""
    try:
        counted = compiled.cost_analysis()
    except Exception:  # noqa: BLE001 - whatever a release says is what is reported
        return None
    if isinstance(counted, list):
        counted = counted[0] if counted else None
    return {name: float(counted[name]) for name in ("flops", "transcendentals") if name in counted} if counted else None


def time_runs(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds that each of some runs of a program takes on this machine's CPU, compiled as users have it."""
    import jax
    import numpy as np

    called = load(task)
    jitted, around = jit(called)
    if around.get("mesh"):
        return {"failed": "a program over several devices is not timed: the CPU only simulates them"}

    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        dtypes: Any = jax.dtypes
        if dtypes.issubdtype(leaf.dtype, getattr(dtypes, "prng_key", np.void)):
            return jax.random.split(jax.random.key(0), leaf.shape) if leaf.shape else jax.random.key(0)
        numbers = np.random.default_rng(0).random(leaf.shape)
        return jax.numpy.asarray(numbers).astype(leaf.dtype)

    seconds: list[float] = []
    spent = time.perf_counter()
    compiled = None
    while len(seconds) <= FEWEST_RUNS or (len(seconds) < MOST_RUNS and time.perf_counter() - spent < MOST_SECONDS):
        if len(seconds) > 1 and seconds[-1] > MOST_SECONDS:
            break
        # Each run has arguments of its own, since they may be donated.
        args, kwargs = jax.tree_util.tree_map(fill, (called.args, called.kwargs))
        if compiled is None:
            compiled = jitted.lower(*args, **kwargs).compile() if not _has_statics(called) else jitted
        args, kwargs = jax.block_until_ready((args, kwargs))
        started = time.perf_counter()
        jax.block_until_ready(compiled(*args, **kwargs))
        seconds.append(time.perf_counter() - started)
    return {"runs": seconds[1:], "median": statistics.median(seconds[1:])}


def _has_statics(called: Called) -> bool:
    return any(name.startswith("static") for name in called.settings) or hasattr(called.function, "lower")


if __name__ == "__main__":
    main()
