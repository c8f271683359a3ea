"""The pytest plugin of xla-inspect: the fixture `hlo` for assertions about compiled programs, its options and hooks.

The plugin is outside of the package, because pytest imports it at every start. It imports JAX and the package, which
sets environment variables for JAX, only if a test uses the fixture.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from xla_inspect.budgets import CompiledProgram, Snapshots

_ACCELERATORS = ("nvidiactl", "dxg", "kfd", "accel0", "vfio/0")
"""The files in `/dev` whose presence shows that JAX may be using an accelerator."""
_DEVICES = Path("/dev")
_PLATFORMS = "JAX_PLATFORMS"
_SHOWN = 4
_LENT, _SNAPSHOTS = pytest.StashKey[dict[str, str]](), pytest.StashKey[dict[Path, Any]]()
_LOG: pytest.StashKey[Any] = pytest.StashKey()  # the log of what a test asserts
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Choose JAX's platform (see `_choose_platform`), and add `--xla-update` and `--xla-require-targets`."""
    _choose_platform()
    group = parser.getgroup("xla-inspect", "assertions about compiled programs")
    group.addoption("--xla-update", action="store_true", help="record what the programs of `hlo` are compiled to")
    group.addoption(
        "--xla-require-targets",
        action="store_true",
        default=os.environ.get("REQUIRE_TARGETS") == "all",
        help="a target that cannot be compiled for is a failure, and no skip (also: REQUIRE_TARGETS=all)",
    )


# pytest-xdist starts its processes in the same hook, so this one must come first.
@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """In the main process of pytest-xdist, undo the choice of JAX's platform, which its worker processes make again."""
    if getattr(session.config.option, "dist", "no") != "no" and not hasattr(session.config, "workerinput"):
        _leave_platform()


def pytest_collection_finish(session: pytest.Session) -> None:
    """If a collected test uses `hlo`, start JAX with the user's settings, and undo the plugin's choice of a platform.

    Otherwise, the order of the tests would decide with which settings JAX starts.
    """
    needs_hlo = any("hlo" in getattr(item, "fixturenames", ()) for item in session.items)
    if needs_hlo and not session.config.option.collectonly:
        with _lent_environment(session.config):
            pass
        _leave_platform()  # who asks for nothing keeps what holds here anyway


@pytest.fixture
def hlo(request: pytest.FixtureRequest) -> Iterator[Callable[..., CompiledProgram]]:
    """Yield `hlo(function, *args, ...)`, which returns a `CompiledProgram`; see `xla_inspect.budgets.hold_call`.

    Its numbers are compared with text, as in `assert hlo(step, *shapes, target="h100").time < "10 s"`.

    Raises:
        InspectError: From the call: no such target or option, or arguments that do not go together.
    """
    with _lent_environment(request.config):
        from xla_inspect.budgets import AssertionLog, hold_call

        log: AssertionLog
        log = request.node.stash[_LOG] = AssertionLog()
        snapshots = _find_snapshots(request)
        test = request.node.nodeid.partition("::")[2]
        snapshots.forget_order(test)

        def compile_for_test(function: Callable[..., Any], *args: Any, **options: Any) -> CompiledProgram:  # noqa: ANN401 - whatever it takes
            __tracebackhide__ = True
            program = hold_call(function, *args, log=log, **options)
            key = snapshots.name(test, f"{program.subject.name} {program.target}")
            program.record = snapshots.find(key)
            snapshots.keep(key, program)
            return program

        yield compile_for_test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test; fail it if it forgot to assert a number, comparison or program, and skip it without its target.

    With `--xla-require-targets`, a test whose target is unavailable fails too.
    """
    try:
        result = yield
    except Exception as error:
        if _LOG not in item.stash:
            raise
        from xla_inspect import TargetUnavailableError

        if not isinstance(error, TargetUnavailableError):
            raise
        if item.config.option.xla_require_targets:
            # The traceback shows only this plugin, which does not help to find the missing target.
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    log = item.stash.get(_LOG, None)
    if log is not None and (forgotten := log.find_forgotten()):
        pytest.fail(forgotten, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Add to the report of a failed comparison the origin of its number, and the changes since the record."""
    report = yield
    log = item.stash.get(_LOG, None)
    if log is not None and report.failed and call.excinfo is not None and call.excinfo.errisinstance(AssertionError):
        places = _list_statement_lines(call.excinfo.traceback)
        report.sections += [("xla-inspect", verdict.explain()) for verdict, where in log.broken if where in places]
    return report


def _list_statement_lines(traceback: Iterable[Any]) -> set[str]:
    """Return all lines of each statement in a traceback, as `FILE:LINE`."""
    return {
        f"{entry.frame.code.raw.co_filename}:{entry.lineno + 1 + more}"
        for entry in traceback
        for more in range(len(entry.statement.lines))
    }


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Return the first lines that explain a comparison with a `Quantity`, or None for a comparison of other values."""
    if op not in _TURNED or "xla_inspect.budgets" not in sys.modules:
        return None
    # A run without `hlo` must not import the package, so the check of the loaded modules comes first.
    from xla_inspect.budgets import Quantity, Verdict

    if isinstance(left, Quantity):
        verdict = Verdict(left, op, right)
    elif isinstance(right, Quantity):
        verdict = Verdict(right, _TURNED[op], left)
    else:
        return None
    # The whole stands below, since pytest cuts what is long here.
    return verdict.explain().splitlines()[:_SHOWN]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the new records of the tests' programs next to the test files; each process adds those of its own tests."""
    for snapshots in session.config.stash.get(_SNAPSHOTS, {}).values():
        from xla_inspect import InspectError

        try:
            snapshots.write()
        except InspectError as error:
            print(f"xla-inspect: {error}", file=sys.stderr)  # noqa: T201 - pytest has reported by then
            session.exitstatus = pytest.ExitCode.USAGE_ERROR


def _find_snapshots(request: pytest.FixtureRequest) -> Snapshots:
    from xla_inspect.budgets import Snapshots

    snapshots: dict[Path, Snapshots] = request.config.stash.setdefault(_SNAPSHOTS, {})
    path = Path(request.node.path)
    if path not in snapshots:
        snapshots[path] = Snapshots(path, update=request.config.option.xla_update)
    return snapshots[path]


@contextmanager
def _lent_environment(config: pytest.Config) -> Iterator[None]:
    """Set the package's environment variables inside the context, and restore the user's variables afterwards.

    If the user has imported the package, as in a `conftest.py`, its variables belong to the user and stay set.
    """
    first, was_there = _LENT not in config.stash, "xla_inspect" in sys.modules
    if first and not was_there:
        import jax

        # With the settings that it has, whichever test comes first.
        jax.devices()
        _leave_platform()
    before = dict(os.environ)
    if first:
        import xla_inspect.budgets  # noqa: F401 - it sets the environment

        changed = {name: value for name, value in os.environ.items() if before.get(name) != value}
        config.stash[_LENT] = {} if was_there else changed
    lent = config.stash[_LENT]
    os.environ.update(lent)
    try:
        yield
    finally:
        for name in lent:
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)


_chosen: list[str] = []
"""The platform that this plugin chose for JAX; empty if it chose none or has undone the choice."""


def _choose_platform() -> None:
    """Set `JAX_PLATFORMS=cpu` for the collection of tests on Linux without an accelerator, unless it is set already.

    Otherwise, JAX would also try its other platforms, which fail without their devices and are then unusable for the
    rest of the process. JAX starts with the first array, which a test file may create when it is imported.
    """
    if _PLATFORMS in os.environ or sys.platform != "linux" or "jax" in sys.modules:
        return
    if not any((_DEVICES / name).exists() for name in _ACCELERATORS):
        os.environ[_PLATFORMS] = "cpu"
        _chosen.append("cpu")


def _leave_platform() -> None:
    """Undo `_choose_platform` in the environment and in JAX, unless the package has been imported in the meantime."""
    if not _chosen:
        return
    _chosen.clear()
    # The package sets the same variable when it is imported, so the value may be its own by now.
    if "xla_inspect" in sys.modules:
        return
    if os.environ.get(_PLATFORMS) == "cpu":
        os.environ.pop(_PLATFORMS)
    if (jax := sys.modules.get("jax")) is not None and jax.config.jax_platforms == "cpu":
        jax.config.update("jax_platforms", None)
