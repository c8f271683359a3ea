"""The compilations that a build of the site requires: recorded during the build, and repeated with JAX alone."""

from __future__ import annotations

import pickle
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from inspect import getmodule
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Callable

type Known = Callable[..., Any]


@dataclass
class BareWork:
    """The work that a build of the site requests from JAX.

    Attributes:
        compiles: For each compilation the target, the device ids, the module as MLIR bytecode and the options.
        functions: The module and name of each function that a page runs once and whose result is cached.
        codes: The Python source that runs in other processes, each with its environment variables.
        unknown: The number of compilations that cannot be written to a file, and so are not repeated.
    """

    compiles: list[tuple[str, list[int], bytes, bytes]] = field(default_factory=list)
    functions: list[tuple[str, str]] = field(default_factory=list)
    codes: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    unknown: int = 0


def note(build: Callable[[], None]) -> BareWork:
    """Run a build, and return the work that it requests from JAX, in this process and in those that it starts."""
    from jax._src import compiler

    from chapters import recorded_runs
    from claims import evidence
    from inside_xla.site_adapter import SiteAdapter
    from livepage import workers
    from xla_inspect.compilation import capture_program

    noting = _Noting()
    with ExitStack() as patches:
        for module, name, noted in (
            (compiler, "backend_compile_and_load", noting.compile),
            (getmodule(capture_program), "capture_program", noting.capture),
            (recorded_runs, "_write", noting.note_run),
            (evidence, "run_code", noting.run_code),
        ):
            original = getattr(module, name)
            patches.enter_context(patch.object(module, name, partial(noted, original)))
        # Pages import modules of `snippets` again, without the patches; modules of `packages` stay loaded.
        own = {module.__name__.partition(".")[0] for module in (recorded_runs, evidence)}
        patches.enter_context(patch.object(SiteAdapter, "packages", (*SiteAdapter.packages, *sorted(own))))
        # With one core the pages run in this process, since compilations in other processes are not recorded.
        patches.enter_context(patch.object(workers, "count_cores", return_value=1))
        build()
    return noting.work


class _Noting:
    """The wrappers that record calls and pass them on."""

    def __init__(self) -> None:
        self.work = BareWork()
        # Code that runs without a capture is compiled for the CPU.
        self.names = {"cpu"}
        self.within = threading.local()

    def compile(self, original: Known, client: Any, module: Any, devices: Any, *rest: Any) -> Any:  # noqa: ANN401 - jaxlib's
        from jax._src.interpreters import mlir

        # A recorded run is repeated as a whole, so the compilations inside it are not recorded separately.
        if not getattr(self.within, "a_run", False):
            try:
                code = mlir.module_to_bytecode(module)
                ids = [device.id for device in devices]
                self.work.compiles.append((self._find_target(client), ids, code, rest[0].SerializeAsString()))
            except (RuntimeError, StopIteration):
                self.work.unknown += 1
        return original(client, module, devices, *rest)

    def _find_target(self, client: object) -> str:
        from xla_inspect import targets

        return next(name for name in sorted(self.names) if targets.find_target(name).devices()[0].client is client)

    def capture(self, original: Known, program: Any, target: Any, *rest: Any, **options: Any) -> Any:  # noqa: ANN401 - the result of `original`
        self.names.add(target.name)
        return original(program, target, *rest, **options)

    def note_run(self, original: Known, function: Known) -> Any:  # noqa: ANN401 - the result of `original`
        self.work.functions.append((function.__module__, function.__qualname__))
        self.within.a_run = True
        try:
            return original(function)
        finally:
            self.within.a_run = False

    def run_code(self, original: Known, code: str, **environment: str) -> Any:  # noqa: ANN401 - the result of `original`
        self.work.codes.append((code, environment))
        return original(code, **environment)


def compile_all(path: Path) -> None:
    """Repeat every compilation and every run of the `BareWork` pickled in a file, without storing anything."""
    from jaxlib import xla_client

    from xla_inspect import targets

    work: BareWork = pickle.loads(path.read_bytes())  # noqa: S301 - written by the benchmark a moment ago
    # This makes the CPU the default platform, as in the build.
    targets.settle()
    for name, ids, code, options in work.compiles:
        client = targets.find_target(name).devices()[0].client
        compile_options = xla_client.CompileOptions.ParseFromString(options)
        # Writing dumps is part of the tool's cost and not of the bare compilation.
        compile_options.env_option_overrides = [
            option for option in compile_options.env_option_overrides if not option[0].startswith("xla_dump")
        ]
        compile_one(client, ids, code, compile_options)
    for module, name in work.functions:
        getattr(import_module(module), name)()
    from claims import evidence

    for python, environment in work.codes:
        evidence.run_code(python, **environment)


def compile_one(client: Any, ids: list[int], code: bytes, options: Any) -> None:  # noqa: ANN401 - jaxlib's own types
    """Compile one module, or print the error if the compiler rejects it as it did in the build."""
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import _jax
    from jaxlib.mlir import ir

    devices = {device.id: device for device in client.devices()}
    listed = _jax.DeviceList(tuple(devices[number] for number in ids))
    try:
        with mlir.make_ir_context():
            compiler.backend_compile_and_load(client, ir.Module.parse(code), listed, options, [])
    except RuntimeError as error:
        print(f"refused, as in the build: {str(error).partition(chr(10))[0]}", file=sys.stderr)


if __name__ == "__main__":
    compile_all(Path(sys.argv[1]))
