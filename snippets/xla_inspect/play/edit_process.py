"""The process for one edit (a version of the page's code): it loads the code, and traces and lowers the function."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import pickle
import resource
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from xla_inspect import jax_private
from xla_inspect.captured import pack
from xla_inspect.compilation import capture_program, describe_program, held_settings, lower, place_dumps
from xla_inspect.errors import InspectError
from xla_inspect.play.argument_text import write_arguments
from xla_inspect.play.compile_process import describe_whole
from xla_inspect.play.edited_subject import choose_options, find_subject
from xla_inspect.play.failures import describe_failure
from xla_inspect.play.sent_program import pack_program
from xla_inspect.process import STACKS
from xla_inspect.subject import execute_file, load_file, put_on_path
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from types import ModuleType

    from xla_inspect.compilation import Program
    from xla_inspect.subject import Subject

FILE = 1 << 28
"""The maximum number of bytes of a file that the code writes."""

WARNING = 1.0
"""The process records the running lines this many seconds before its time limit."""

LAST_WARNING = 0.3
"""The seconds before the limit at which lines of code that never releases Python's lock (a loop in C) are recorded."""


def run_edit(connection: Connection, memory: int) -> None:
    """Wait for an edit from the page, run its code, send the lowered program of each target, and end the process.

    Args:
        connection: The pipe that delivers the edit; it returns the messages `ready`, `traced`, `lowered`,
            `compiling`, `captured`, `failed` and `end`.
        memory: The number of bytes that the code may allocate.
    """
    shape = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    program = describe_program(lambda x: jax.nn.softmax(jnp.sin(x) @ x), (shape,), {})
    for target in ("cpu", "h100", "tpu-v5e"):
        lower(program, find_target(target))  # so that JAX loads what it loads when it first lowers a program
    connection.send({"kind": "ready"})
    try:
        request = connection.recv()
    except EOFError:
        return
    limits = {resource.RLIMIT_DATA: memory, resource.RLIMIT_FSIZE: FILE, resource.RLIMIT_CORE: 0}
    for kind, limit in limits.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (limit, limit))
    _Edit(request, Path.cwd(), connection).answer()


class _Edit:
    """The execution of one edit.

    Args:
        request: The page's request with three more keys: `file`, the name of the file; `package`, its package; and
            `paths`, the folders from which it imports.
        folder: The folder in which the code runs.
        connection: The pipe for messages to the server.
    """

    def __init__(self, request: dict[str, Any], folder: Path, connection: Connection) -> None:
        self.request, self.send = request, connection.send
        self.path = folder / request["file"]
        self.stage = "loading"

    def answer(self) -> None:
        """Run the code, send the results or the failure, and end the process."""
        with Path(STACKS).open("w", encoding="utf-8") as stacks:
            faulthandler.enable(stacks)
            seconds = self.request["seconds"]
            # This works without Python's global lock, so it reads stacks that change meanwhile and may crash.
            faulthandler.dump_traceback_later(max(seconds - LAST_WARNING, LAST_WARNING), file=stacks)
            errors: list[BaseException] = []

            def work() -> None:
                try:
                    self._work()
                except BaseException as error:  # noqa: BLE001 - the page shows whatever it is
                    errors.append(error)

            # Recursion in C may need a larger stack than that of the main thread.
            threading.stack_size(64 << 20)
            thread = threading.Thread(target=work)
            thread.start()
            threading.stack_size(0)
            thread.join(max(seconds - WARNING, seconds / 2))
            if thread.is_alive():
                faulthandler.cancel_dump_traceback_later()
                faulthandler.dump_traceback(stacks)  # no other Python code runs meanwhile
                thread.join()
            if errors:
                self._fail(None, errors[0])
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
            self.send({"kind": "end"})
            # A normal exit would wait for threads that the code started.
            os._exit(0)

    def _fail(self, target: str | None, error: BaseException, stage: str = "") -> None:
        failure = describe_failure(error, stage or self.stage, self.path)
        self.send({"kind": "failed", "target": target, "failure": failure})

    def _work(self) -> None:
        # An empty project file makes this folder the root of the project that the code belongs to.
        (self.path.parent / "pyproject.toml").touch()
        self.path.write_bytes(self.request["code"].encode("utf-8", "surrogatepass"))
        module = self._load()
        self.stage = "arguments"
        names = ("file", "function", "arguments", "options")
        subject = find_subject(module, *(self.request[name] for name in names))
        program = subject.program()
        self.stage = "tracing"
        with held_settings(program.project):
            if not program.mesh:
                call = subject.call
                arguments = write_arguments(call.args, call.kwargs, call.function) if call else ""
                self.send({"kind": "traced", "seconds": program.traced.seconds, "arguments": arguments})
            for target in self.request["targets"]:
                try:
                    self._lower(subject, program, target)
                except Exception as error:  # noqa: BLE001 - the program may compile for other targets
                    self._fail(target, error)

    def _load(self) -> ModuleType:
        for place in self.request["paths"]:
            put_on_path(Path(place))
        package = self.request["package"]
        if not package:
            return load_file(self.path)
        # The code may use relative imports, which need its package to be imported first.
        importlib.import_module(package)
        return execute_file(self.path, f"{package}.{self.path.stem}")

    def _lower(self, subject: Subject, program: Program, requested: str) -> None:
        target = find_target(subject.name_target(requested))
        options = choose_options(subject, target.name)
        lowered = lower(program, target)
        sources = {self.request["file"]: self.request["code"]}
        # A lowered program can be sent to another process only if it names no device of the process that made it.
        has_devices = lowered.devices or jax_private.find_layout(lowered.stage)[0] > 1
        if program.mesh or has_devices or "stablehlo.token" in lowered.stablehlo:
            # The program refers to devices of this process, so no other process can compile it.
            self.send({"kind": "compiling"})
            self._compile(partial(capture_program, program, target, options), requested, sources)
            return
        packed = pickle.dumps(pack_program(program, lowered, sources))
        names = {"asked": requested, "target": target.name, "options": options}
        self.send({"kind": "lowered", **names, "program": packed})

    def _compile(self, start: partial[Any], requested: str, sources: dict[str, str]) -> None:
        place_dumps(self.path.parent)
        try:
            capture = start()().retold(sources=sources)
        except (InspectError, RuntimeError) as error:
            self._fail(requested, error, "compiler")
            return
        seconds = {"trace": capture.times.tracing, "lower": capture.times.lowering}
        whole = describe_whole(capture, seconds)
        self.send({"kind": "captured", "asked": requested, **whole, "packed": pack(capture)})
