"""What every test may ask for: the project's root, a browser, every target; and what happens where one is missing.

Where a test needs something that this machine lacks it is skipped, and the reason says how to get it;
with REQUIRE_TARGETS=all or REQUIRE_BROWSER=1, as in continuous integration, it fails instead. With both, a test that is
skipped for another reason than those of `MAY_LACK` fails too.
A test need not ask for a target: a `TargetUnavailableError` that reaches pytest is treated the same way.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from xla_inspect.errors import TargetUnavailableError

if TYPE_CHECKING:
    from collections.abc import Generator

    from xla_inspect import Captures

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))
TARGETS_REQUIRED = os.environ.get("REQUIRE_TARGETS") == "all"
BROWSER_REQUIRED = os.environ.get("REQUIRE_BROWSER", "0") not in {"", "0"}
# Why a test may be skipped although everything is required: it is about a machine without what this one has.
MAY_LACK = {
    "this machine has a GPU",
    "the system's own folders hold a uv",
}
COMPILERS = {"libtpu": "libtpu", "jax-cuda13-plugin": "jax_cuda13_plugin"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MACOS_BROWSERS = (
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--page`, which `scripts/test docs/pipeline.md` hands on."""
    parser.addoption(
        "--page", action="append", default=[], metavar="PATH", help="check only this page of docs/; may repeat"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Skip a test whose fixtures need a target that is not available here."""
    yield from _skip_unavailable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Skip a test that needs a target that is not available here."""
    yield from _skip_unavailable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that is skipped although everything is there."""
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
    """relu(x @ w + b) on the three targets that pages show."""
    from programs import layer
    from xla_inspect import capture_all

    return capture_all(layer.layer, *layer.EXAMPLE)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium or Chrome; skips (or fails, with REQUIRE_BROWSER=1) where there is none."""
    named = os.environ.get("CHROMIUM")
    found = (named and shutil.which(named)) or next(filter(None, map(shutil.which, BROWSERS)), None)
    found = found or next((str(path) for path in MACOS_BROWSERS if path.exists()), None)
    if not found:
        _miss(
            "no Chromium found: install it (Debian: `apt-get install chromium`) "
            "or name one in the environment variable CHROMIUM",
            required=BROWSER_REQUIRED,
        )
    return str(found)
