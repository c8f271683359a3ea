"""Fixtures and hooks of all tests: the project's root, a browser, every target, and skips for missing parts.

Where a test needs something that this machine lacks it is skipped, and the reason says how to get it;
with REQUIRE_TARGETS=all or REQUIRE_BROWSER=1, as in continuous integration, it fails instead. With both, a test that is
skipped for another reason than those of `MAY_LACK` fails too.
A test need not ask for a target: a `TargetUnavailableError` that reaches pytest is treated the same way.

With `--short`, as in `scripts/test`, tests that are marked as long are left out; `--slowest` says where the time went.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from livepage.publish import site_checksum
from xla_inspect.errors import TargetUnavailableError

if TYPE_CHECKING:
    from collections.abc import Generator

    from xla_inspect import Captures

ROOT = Path(__file__).resolve().parents[1]
# A shell lets what it runs in the background ignore interrupts, and some tests are about what an interrupt does.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))
if UV := os.environ.get("UV"):  # what `uv run` says of itself: where scripts fetched it, PATH has none
    os.environ["PATH"] += f"{os.pathsep}{Path(UV).parent}"
TARGETS_REQUIRED = os.environ.get("REQUIRE_TARGETS") == "all"
BROWSER_REQUIRED = os.environ.get("REQUIRE_BROWSER", "0") not in {"", "0"}
# Why a test may be skipped although everything is required: it is about a machine without what this one has.
MAY_LACK = {
    "this machine has a GPU",
    "the system's own folders hold a uv",
    "this machine's compiler leaves other faults in the model",
    "this machine gives a process no numbers of its own: run as root on Linux",
    "no release of JAX of years ago can be installed here",
}
SETTINGS = ("JAX_DEFAULT_MATMUL_PRECISION", "JAX_ENABLE_X64", "LIBTPU_INIT_ARGS", "XLA_FLAGS", "XLA_INSPECT_CACHE")
"""Environment variables that change the result of every compilation, or the folder of captures."""

FIRST = "tests/site/test_reproducible.py"
LEFT_OUT = pytest.StashKey[int]()
COMPILERS = {"libtpu": "libtpu", "jax-cuda13-plugin": "jax_cuda13_plugin", "jax-rocm7-pjrt": "jax_plugins.xla_rocm7"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MACOS_BROWSERS = (
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that `scripts/test` passes."""
    parser.addoption(
        "--page", action="append", default=[], metavar="PATH", help="check only this page of docs/; may repeat"
    )
    parser.addoption("--short", action="store_true", help="leave out the tests that are marked as long")
    parser.addoption("--slowest", type=int, default=0, metavar="N", help="name the N slowest files and tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out long tests on request, and start with the tests that take longest."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    if config.getoption("--short"):
        left_out = [item for item in items if is_long(item)]
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)
        config.stash[LEFT_OUT] = len(left_out)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Reject a test module whose imports change one of the variables in `SETTINGS`."""
    before = {name: os.environ.get(name) for name in SETTINGS}
    report = yield
    if changed := [name for name in SETTINGS if os.environ.get(name) != before[name]]:
        report.outcome = "failed"
        report.longrepr = (
            f"importing this module sets {' and '.join(changed)} for all other tests: set it in a function"
        )
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the number of left-out tests from a worker process to the process that reports it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401 - a class of pytest-xdist
    """Receive the number of tests that a worker process left out."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report the number of left-out tests and the slowest ones; a fixture counts with its first test."""
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{left_out} long tests were left out: `scripts/test --all` runs them too")
    if not (most := config.getoption("--slowest")):
        return
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                tests[report.nodeid] += report.duration
    files: Counter[str] = Counter()
    for name, seconds in tests.items():
        files[name.partition("::")[0]] += seconds
    for what, entries in (("files", files), ("tests", tests)):
        terminalreporter.section(f"the {most} slowest {what}, of {sum(entries.values()):.0f} s")
        for name, seconds in entries.most_common(most):
            terminalreporter.write_line(f"{seconds:7.1f} s  {name}")


def is_long(test: pytest.Item) -> bool:
    """Return whether a test is marked as long, and no parameter of it is in `but`, the exceptions of the mark."""
    mark = test.get_closest_marker("long")
    call = getattr(test, "callspec", None)
    return bool(mark and not (call and {call.id, *map(str, call.params.values())} & {*mark.kwargs.get("but", ())}))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Skip a test with a fixture whose target is not available here."""
    yield from _skip_unavailable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Skip a test whose target is not available here."""
    yield from _skip_unavailable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure if targets and browser are required, except for the reasons of `MAY_LACK`."""
    report = yield
    if report.skipped and TARGETS_REQUIRED and BROWSER_REQUIRED and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in MAY_LACK:
            report.outcome = "failed"
            report.longrepr = f"skipped although everything is required: {reason}"
    return report


def _skip_unavailable() -> Generator[None]:
    try:
        yield
    except TargetUnavailableError as error:
        if TARGETS_REQUIRED:
            raise
        pytest.skip(str(error))


def _miss(reason: str, *, required: bool) -> NoReturn:
    if required:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that holds the project."""
    return ROOT


@pytest.fixture(scope="session")
def built_site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site: the one that SITE_DIR names, as in `scripts/test`, or one that is built for these tests.

    It fails with the build's own words when the strict build fails.
    """
    if site_path := os.environ.get("SITE_DIR"):
        if problem := site_checksum.check_checksum(Path(site_path)):
            pytest.fail(problem, pytrace=False)
        return Path(site_path).resolve()
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    build = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if build.returncode:
        pytest.fail(f"mkdocs build --strict failed:\n{build.stderr[-4000:]}", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def pages(request: pytest.FixtureRequest) -> list[Path]:
    """The pages that `--page` named, absolute, or an empty list for all of them."""
    return [Path(page).resolve() for page in request.config.getoption("--page")]


@pytest.fixture(scope="session")
def all_targets() -> None:
    """Ask for every target: skips (or fails, with REQUIRE_TARGETS=all) where a compiler is not installed."""
    missing = [package for package, module in COMPILERS.items() if importlib.util.find_spec(module) is None]
    if missing:
        _miss(
            f"{' and '.join(missing)} not installed: run `uv sync` (Linux x86-64 only) for the GPU and TPU compilers",
            required=TARGETS_REQUIRED,
        )


@pytest.fixture(scope="session")
def captures() -> Captures:
    """The captures of relu(x @ w + b) on the three targets that pages show."""
    from programs import layer
    from xla_inspect import capture_all

    return capture_all(layer.layer, *layer.EXAMPLE)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium or Chrome; skips (or fails, with REQUIRE_BROWSER=1) where there is none."""
    chromium_path = os.environ.get("CHROMIUM")
    browser_path = (chromium_path and shutil.which(chromium_path)) or next(
        filter(None, map(shutil.which, BROWSERS)), None
    )
    browser_path = browser_path or next((str(path) for path in MACOS_BROWSERS if path.exists()), None)
    if not browser_path:
        _miss(
            "no Chromium found: install it (Debian: `apt-get install chromium`) "
            "or name one in the environment variable CHROMIUM",
            required=BROWSER_REQUIRED,
        )
    return str(browser_path)
