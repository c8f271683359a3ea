"""The compiles that a build of the site cannot do without, noted as it makes them, to be made again with JAX alone."""

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
    """What a build of the site asked of JAX.

    Attributes:
        compiles: For each compile the target, the ids of the devices, the module in MLIR's byte code and the options.
        functions: Module and name of each function that a page runs once and keeps the answer of.
        codes: The Python codes that it lets another process run, each with variables of the environment.
        unknown: How many compiles and programs cannot be written to a file; the floor goes without them.
    """

    compiles: list[tuple[str, list[int], bytes, bytes]] = field(default_factory=list)
    functions: list[tuple[str, str]] = field(default_factory=list)
    codes: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    unknown: int = 0


def note(build: Callable[[], None]) -> BareWork:
    """Return what a build asks of JAX, of this process and of those that it starts."""
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
            known = getattr(module, name)
            patches.enter_context(patch.object(module, name, partial(noted, known)))
        # A module that each page imports anew would not be the one that notes.
        own = {module.__name__.partition(".")[0] for module in (recorded_runs, evidence)}
        patches.enter_context(patch.object(SiteAdapter, "packages", (*SiteAdapter.packages, *sorted(own))))
        # What another process compiled would not be heard of here.
        patches.enter_context(patch.object(workers, "count_cores", return_value=1))
        build()
    return noting.work


class _Noting:
    """Does what it is given to do, and notes what it was."""

    def __init__(self) -> None:
        self.work = BareWork()
        self.names = {"cpu"}
        self.within = threading.local()

    def compile(self, known: Known, client: Any, module: Any, devices: Any, *rest: Any) -> Any:  # noqa: ANN401 - jaxlib's
        from jax._src.interpreters import mlir

        # A run is noted as a whole.
        if not getattr(self.within, "a_run", False):
            try:
                code = mlir.module_to_bytecode(module)
                ids = [device.id for device in devices]
                self.work.compiles.append((self._find_target(client), ids, code, rest[0].SerializeAsString()))
            except (RuntimeError, StopIteration):
                self.work.unknown += 1
        return known(client, module, devices, *rest)

    def _find_target(self, client: object) -> str:
        from xla_inspect import targets

        return next(name for name in sorted(self.names) if targets.find_target(name).devices()[0].client is client)

    def capture(self, known: Known, program: Any, target: Any, *rest: Any, **options: Any) -> Any:  # noqa: ANN401 - what `known` returns
        self.names.add(target.name)
        return known(program, target, *rest, **options)

    def note_run(self, known: Known, function: Known) -> Any:  # noqa: ANN401 - what `known` returns
        self.work.functions.append((function.__module__, function.__qualname__))
        self.within.a_run = True
        try:
            return known(function)
        finally:
            self.within.a_run = False

    def run_code(self, known: Known, code: str, **environment: str) -> Any:  # noqa: ANN401 - what `known` returns
        self.work.codes.append((code, environment))
        return known(code, **environment)


def compile_all(path: Path) -> None:
    """Make every compile of a build again, and every run, and keep nothing."""
    from jaxlib import xla_client

    from xla_inspect import targets

    work: BareWork = pickle.loads(path.read_bytes())  # noqa: S301 - written by the benchmark a moment ago
    targets.settle()
    for name, ids, code, options in work.compiles:
        client = targets.find_target(name).devices()[0].client
        asked = xla_client.CompileOptions.ParseFromString(options)
        asked.env_option_overrides = [
            option for option in asked.env_option_overrides if not option[0].startswith("xla_dump")
        ]
        compile_one(client, ids, code, asked)
    for module, name in work.functions:
        getattr(import_module(module), name)()
    from claims import evidence

    for python, environment in work.codes:
        evidence.run_code(python, **environment)


def compile_one(client: Any, ids: list[int], code: bytes, options: Any) -> None:  # noqa: ANN401 - jaxlib's own types
    """Compile one module, or be refused as the build was."""
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
