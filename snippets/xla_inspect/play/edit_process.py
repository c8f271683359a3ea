"""The process that runs the code of one edit: it loads it, traces the function and lowers it for each target."""

from __future__ import annotations

import base64
import faulthandler
import importlib.util
import io
import os
import sys
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from xla_inspect.errors import InspectError
from xla_inspect.play import confinement
from xla_inspect.play.failures import describe_failure, make_failure
from xla_inspect.play.offspring import STACKS
from xla_inspect.play.pipe_messages import read_messages

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from xla_inspect.compilation import Program
    from xla_inspect.play.pipe_messages import Sender
    from xla_inspect.subject import Subject
    from xla_inspect.targets import Target

WARNING = 1.0
"""Seconds before the end of its time at which the process says where the code is."""
LAST_WARNING = 0.3
"""Seconds before it at which that is said for code that lets no other run, such as a loop in C."""

_leave = os._exit


def run(order: dict[str, Any], requests: int, sender: Sender) -> None:
    """Wait for an edit, run its code, and send what it was lowered to.

    Args:
        order: The process's `folder`, `mark` and `memory`.
        requests: The pipe that the edit comes through.
        sender: Where messages go: `ready`, `loaded`, `traced`, `lowered`, `captured` and `failed`, and `end`.
    """
    _warm()
    sender.send({"kind": "ready"})
    request = next(read_messages(requests, order["mark"]), None)
    os.close(requests)
    if request is None:
        return
    folder = Path(order["folder"])
    tempfile.tempdir = str(folder)
    # What libraries read that are not Python, such as assemblers, of which each writes where it is told.
    os.environ.update({"TMPDIR": str(folder), "TPU_LOG_DIR": str(folder)})
    confinement.confine(folder, order["memory"])
    _Edit(request, folder, sender).run()


def _warm() -> None:
    """Let JAX load what it loads when it first lowers something."""
    import jax
    import jax.numpy as jnp

    from xla_inspect.compilation import describe_program, lower
    from xla_inspect.targets import find

    shape = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    program = describe_program(lambda x: jax.nn.softmax(jnp.sin(x) @ x), (shape,), {})
    for target in ("cpu", "h100", "tpu-v5e"):
        lower(program, find(target))


class _Edit:
    """One edit.

    Args:
        request: What the page sent, and `file`, `package` and `paths`: what the file is called, of which package it is
            a part, and where else it imports from.
        folder: The folder that it runs in.
        sender: Where messages go.
    """

    def __init__(self, request: dict[str, Any], folder: Path, sender: Sender) -> None:
        self.request, self.sender = request, sender
        self.path = folder / request["file"]
        self.names: dict[str, Any] = {}
        self.stage = "loading"

    def run(self) -> None:
        """Run it, and send what came of it, whatever that is."""
        os._exit = self._leave  # type: ignore[assignment]  # it ends Python all the same
        with Path(STACKS).open("w", encoding="utf-8") as stacks:
            faulthandler.enable(stacks)
            seconds = self.request["seconds"]
            # Without the lock of Python: it reads the stack of code that runs meanwhile, and may crash over it.
            faulthandler.dump_traceback_later(max(seconds - LAST_WARNING, LAST_WARNING), file=stacks)
            failed: list[BaseException] = []

            def work() -> None:
                try:
                    self._work()
                except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
                    failed.append(error)

            # A thread of its own has a stack that recursion in C does not reach the end of so soon.
            threading.stack_size(64 << 20)
            thread = threading.Thread(target=work)
            thread.start()
            threading.stack_size(0)
            thread.join(max(seconds - WARNING, seconds / 2))
            if thread.is_alive():
                faulthandler.cancel_dump_traceback_later()
                faulthandler.dump_traceback(stacks)  # nothing else of Python runs meanwhile
                thread.join()
            if failed:
                self._fail(None, failed[0])
            self.sender.send({"kind": "end"})
            _leave(0)

    def _leave(self, code: int) -> NoReturn:
        frame = sys._getframe(1)  # noqa: SLF001 - who called it
        while frame is not None and frame.f_code.co_filename != str(self.path):
            frame = frame.f_back  # type: ignore[assignment]  # the outermost has none
        line = frame.f_lineno if frame is not None else None
        failure = make_failure("crash", f"os._exit({code!r}) ends Python", line, hint="take out what ends Python")
        self.sender.send({"kind": "failed", "target": None, "failure": failure})
        self.sender.send({"kind": "end"})
        _leave(0)

    def _fail(self, target: str | None, error: BaseException, stage: str = "") -> None:
        failure = describe_failure(error, stage or self.stage, self.path)
        self.sender.send({"kind": "failed", "target": target, "failure": failure})

    def _work(self) -> None:
        from xla_inspect.compilation import held_settings

        (self.path.parent / "pyproject.toml").touch()
        self.path.write_bytes(self.request["code"].encode("utf-8", "surrogatepass"))
        module = self._load()
        self.sender.send({"kind": "loaded"})
        self.stage = "arguments"
        subject = self._find_subject(module)
        program = subject.program()
        self.stage = "tracing"
        with held_settings(program.project):
            if not program.mesh:
                seconds = program.traced.seconds
                self.sender.send({"kind": "traced", "seconds": seconds, "arguments": self._write_arguments(subject)})
            for asked in self.request["targets"]:
                try:
                    self._lower(subject, program, asked)
                except Exception as error:  # noqa: BLE001 - the other targets may do
                    self._fail(asked, error)

    def _load(self) -> ModuleType:
        from xla_inspect.subject import load_file, put_on_path

        for place in self.request["paths"]:
            put_on_path(Path(place))
        package = self.request["package"]
        if not package:
            return load_file(self.path)
        importlib.import_module(package)
        spec = importlib.util.spec_from_file_location(f"{package}.{self.path.stem}", self.path)
        if spec is None or spec.loader is None:
            message = f"{self.request['file']} is no Python file"
            raise InspectError(message)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    def _find_subject(self, module: ModuleType) -> Subject:
        from xla_inspect.play.edited_subject import find_subject

        asked = self.request
        return find_subject(module, asked["file"], asked["function"], asked["arguments"], asked["options"])

    def _write_arguments(self, subject: Subject) -> str:
        from xla_inspect.play.argument_text import write_arguments

        call = subject.call
        return write_arguments(call.args, call.kwargs, call.function) if call else ""

    def _lower(self, subject: Subject, program: Program, asked: str) -> None:
        from xla_inspect.compilation import lower
        from xla_inspect.play.edited_subject import choose_options
        from xla_inspect.targets import find

        target = find(subject.name_target(asked))
        options = choose_options(subject, target.name)
        lowered = lower(program, target)
        told = {"asked": asked, "target": target.name, "options": options}
        if program.mesh or lowered.devices or "stablehlo.token" in lowered.stablehlo or self._is_spread(lowered):
            self.sender.send({"kind": "compiling", **told})
            self._compile(program, target, options, asked)
            return
        record = {
            "program": program.name,
            "source_file": program.source_file,
            "jaxpr": lowered.jaxpr,
            "jaxpr_locations": lowered.jaxpr_locations,
            "stablehlo": lowered.stablehlo,
            "stablehlo_locations": lowered.stablehlo_locations,
            "equations": [asdict(each) for each in lowered.traced.equations],
            "constants": [asdict(each) for each in lowered.traced.constants],
            "seconds": [lowered.traced.seconds, lowered.seconds],
            "module": base64.b64encode(write_module(lowered.stage)).decode("ascii"),
        }
        self.sender.send({"kind": "lowered", **told, "record": record})

    @staticmethod
    def _is_spread(lowered: Any) -> bool:  # noqa: ANN401 - its class is of a module that imports JAX
        from xla_inspect import jax_private

        return jax_private.find_layout(lowered.stage)[0] > 1

    def _compile(self, program: Program, target: Target, options: dict[str, Any], asked: str) -> None:
        """Compile here what no other process can: a program that is spread over devices of this one."""
        from xla_inspect.analysis import list_launches
        from xla_inspect.captured import pack
        from xla_inspect.compilation import capture_program, place_dumps
        from xla_inspect.report.explorer import describe_capture

        place_dumps(self.path.parent)
        try:
            capture = capture_program(program, target, options)()
        except (InspectError, RuntimeError) as error:
            self._fail(asked, error, "compiler")
            return
        capture = capture.retold(sources={self.request["file"]: self.request["code"]})
        times = capture.times
        self.sender.send(
            {
                "kind": "captured",
                "asked": asked,
                "target": target.name,
                "seconds": {"trace": times.tracing, "lower": times.lowering, "compile": times.compiling},
                "data": describe_capture(capture, code=True),
                "seen": {"kernels": len(list_launches(capture)), "opcodes": dict(capture.module.opcode_counts())},
                "packed": base64.b64encode(pack(capture)).decode("ascii"),
            }
        )


def write_module(stage: Any) -> bytes:  # noqa: ANN401 - JAX's own, as above
    """Return a lowered program as MLIR's bytecode, with its locations."""
    out = io.BytesIO()
    write: Callable[[io.BytesIO], None] = stage.compiler_ir("stablehlo").operation.write_bytecode
    write(out)
    return out.getvalue()
