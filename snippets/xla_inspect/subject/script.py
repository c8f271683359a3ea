"""An unchanged script and the compilations that it starts: `run SCRIPT.py ARGS`, or `run -m package.module ARGS`."""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import time
import types
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private, targets
from xla_inspect.analysis import ScriptRun
from xla_inspect.errors import InspectError
from xla_inspect.spelling import FEW, suggest_file, suggest_name
from xla_inspect.subject.compile_listener import ReachedError, Watch
from xla_inspect.subject.loading import put_on_path
from xla_inspect.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xla_inspect.subject.recorded_jit import Noted
    from xla_inspect.subject.request import Request


def read_script(request: Request) -> Subject:
    """Run a script, and return the subject for one function that it compiles, or for all of its compilations.

    The script ends at the function that is requested by name. Without a name, the function with the most jaxpr
    equations is chosen at its end.

    Raises:
        InspectError: There is no such script, it exits with an error status, or it compiles no suitable function.
    """
    name, words, code, module = _find_code(request)
    watch = Watch(request.only, signed=request.whole, devices=request.devices)
    start = time.perf_counter()
    with _watched(watch), _as_main(module, words), targets.original_environment():
        _run(code, module, name)
    seconds = time.perf_counter() - start
    jax_private.leave_meshes()
    if request.whole:
        return Subject(name, script=ScriptRun(name, seconds, watch.compilations))
    noted = _choose(request.only, watch, name)
    others = {call.name for call in watch.noted} - {noted.name}
    return Subject(noted.name, noted.call, others=tuple(sorted(others)))


def _find_code(request: Request) -> tuple[str, list[str], types.CodeType, types.ModuleType]:
    """Return a script's name, its arguments, its code object, and the module to run it in, `__main__`."""
    words = request.words[1:]
    if not words or words == ("-m",):
        message = "run what? Write run SCRIPT.py and its arguments, or run -m package.module and its arguments"
        raise InspectError(message)
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    if words[0] == "-m":
        put_on_path(Path.cwd())
        spec = _find_spec(words[1])
        code = spec.loader.get_code(spec.name) if isinstance(spec.loader, importlib.abc.InspectLoader) else None
        if code is None:
            message = f"{words[1]} holds no Python to run"
            raise InspectError(message)
        module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, spec.parent
        module.__file__ = spec.origin
        return words[1], [str(spec.origin), *words[2:]], code, module
    path = Path(words[0])
    if path.is_dir():
        # Python runs a folder in this way too.
        path /= "__main__.py"
    if not path.is_file():
        message = f"no file {path}{suggest_file(path)}"
        raise InspectError(message)
    put_on_path(path.absolute().parent)
    module.__file__ = str(path.absolute())
    module.__package__ = None
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", str(path.absolute()))
    module.__dict__.update(__annotations__={}, __cached__=None)
    try:
        # This file's own `from __future__` imports must not apply to the script.
        code = compile(path.read_bytes(), str(path.absolute()), "exec", dont_inherit=True)
    except ValueError as error:
        message = f"{path} is no Python file: {error}"
        raise InspectError(message) from error
    return words[0], list(words), code, module


def _find_spec(name: str) -> importlib.machinery.ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        # An import that fails inside the script's own package is an error of the user's code.
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    except ValueError:
        spec = None
    if spec is None:
        message = f"there is no module {name!r} to run, from {Path.cwd()}; a package needs a __main__"
        raise InspectError(message)
    return spec


def _run(code: types.CodeType, module: types.ModuleType, name: str) -> None:
    """Run a script to its end, or until it compiles the requested function.

    Raises:
        InspectError: The script exits with a status other than 0.
    """
    try:
        exec(code, module.__dict__)  # noqa: S102 - the reader's script is what is asked about
    except ReachedError:
        return
    except SystemExit as error:
        status = error.code
    except BaseException as error:
        # `LeftError` replaces `os._exit`, which would end this process.
        if type(error).__name__ != "LeftError":
            raise
        status = error.args[0]
    else:
        return
    if status not in {None, 0}:
        message = (
            f"{name} ended with sys.exit({status!r}); it has to run through, or as far as the function that is asked "
            "about: --only NAME"
        )
        raise InspectError(message)


def _choose(only: str, watch: Watch, name: str) -> Noted:
    """Return the recorded call of the requested function or, if none is named, the call with the most jaxpr equations.

    Raises:
        InspectError: There is no such function.
    """
    # Of several calls with one name, the first one counts.
    calls = {call.name: call for call in reversed(watch.noted)}
    if only:
        if at := watch.reached or watch.inside:
            return at
        others = sorted({*calls, *watch.inner})
        message = (
            f"{name} compiles no function {only!r}; {suggest_name(only, others, 'it compiles', FEW)}"
            if others
            else f"{name} jits no function at all"
        )
        raise InspectError(message)
    if not calls:
        ran = bool(watch.compilations)
        message = (
            f"{name} jits no function of its own: what it compiles are operations of JAX that run one by one; put "
            "jax.jit around the function that you ask about"
            if ran
            else f"{name} ran to its end and compiled nothing with JAX: does it call a function that jax.jit made?"
        )
        raise InspectError(message)
    return max(reversed(watch.noted), key=lambda call: (call.equations, call.argument_bytes))


@contextmanager
def _as_main(module: types.ModuleType, words: list[str]) -> Iterator[None]:
    """Make a module `__main__` and `words` the value of `sys.argv` during the `with` block.

    Folders that the script adds to `sys.path` remain there afterwards.
    """
    before, argv, path = sys.modules["__main__"], sys.argv, list(sys.path)
    sys.modules["__main__"], sys.argv = module, words
    # The script's folder comes first, as in Python; `put_on_path` would put it after the standard library.
    folder = str(Path.cwd() if module.__spec__ else Path(str(module.__file__)).parent)
    sys.path[:] = [folder, *(place for place in path if place != folder)]
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv = before, argv
        # Folders that the script added remain, because its functions may import from them when they are traced again.
        sys.path[:] = [*path, *(place for place in sys.path if place not in path)]


@contextmanager
def _watched(watch: Watch) -> Iterator[None]:
    """Watch JAX's compilations from the moment that the script imports it, so that the script's JAX settings apply."""
    with ExitStack() as stack:

        def begin() -> None:
            stack.enter_context(watch.watching())

        if jax_private.JITS in sys.modules:
            begin()
        else:
            finder = _AfterImport(jax_private.JITS, begin)
            sys.meta_path.insert(0, finder)
            stack.callback(sys.meta_path.remove, finder)
        yield


class _AfterImport(importlib.abc.MetaPathFinder):
    """An import hook that calls a function after a module has been imported."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        """Store the name and the function."""
        self._name = name
        self._call = call

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return the module's specification with a loader that calls the function, or None for other modules."""
        if fullname != self._name:
            return None
        # The usual finder is asked directly, because `importlib.util.find_spec` would call this hook again.
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        loader: Any = spec.loader if spec else None
        if loader is not None:
            execute = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                execute(module)
                self._call()

            loader.exec_module = exec_module
        return spec
