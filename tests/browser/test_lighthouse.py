"""Lighthouse, as on a phone with a slow network: full marks for access, practices and search."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Site

PINNED = Path(__file__).parent / "lighthouse"
REQUIRED = os.environ.get("REQUIRE_BROWSER", "0") not in {"", "0"}
CHAPTER = "pipeline/"
FLAGS = "--headless=new --no-sandbox --disable-background-networking --disable-component-update --disable-quic"
RUNS = int(os.environ.get("LIGHTHOUSE_RUNS", "1"))


@pytest.fixture(scope="module")
def lighthouse(root: Path) -> list[str]:
    """The command that runs the pinned Lighthouse, installed into .cache/node on first use."""
    here = Path(sys.executable).parent
    node, npm = (shutil.which(name, path=f"{here}{os.pathsep}{os.environ.get('PATH', '')}") for name in ("node", "npm"))
    if not (node and npm):
        miss("neither node nor npm found: run `uv sync`, which installs them")
    folder = root / ".cache" / "node"
    command = folder / "node_modules" / "lighthouse" / "cli" / "index.js"
    lock = (PINNED / "package-lock.json").read_bytes()
    stamp = folder / "installed-lock.json"
    if not stamp.exists() or stamp.read_bytes() != lock:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PINNED / name, folder / name)
        install = [str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False, env=with_node(here))
        if done.returncode:
            miss(f"Lighthouse could not be installed (is the npm registry reachable?): {done.stderr[-500:]}")
        stamp.write_bytes(lock)
    return [str(node), str(command)]


def miss(reason: str) -> None:
    """Skip, or fail where the browser tests are required."""
    if REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def with_node(folder: Path) -> dict[str, str]:
    """Return the environment with the project's own Node.js first."""
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}


def audit(command: list[str], address: str, chromium: str) -> dict[str, Any]:
    """Return Lighthouse's report on one page, as a phone sees it."""
    options = ["--output=json", "--output-path=stdout", "--quiet", f"--chrome-flags={FLAGS}"]
    categories = "--only-categories=performance,accessibility,best-practices,seo"
    environment = {**with_node(Path(sys.executable).parent), "CHROME_PATH": chromium}
    done = subprocess.run(
        [*command, address, *options, categories], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_the_chapter_passes_lighthouse_on_a_phone(site: Site, chromium: str, lighthouse: list[str]) -> None:
    """Speed is printed and not asserted, since it depends on what else the machine does: `scripts/bench page`."""
    speeds = []
    for _ in range(RUNS):
        report = audit(lighthouse, f"{site.address}/{CHAPTER}", chromium)
        scores = {name: round(100 * category["score"]) for name, category in report["categories"].items()}
        speeds.append(scores.pop("performance"))
        assert scores == {"accessibility": 100, "best-practices": 100, "seo": 100}, failed(report)
    print(f"\nLighthouse, mobile: performance {median(speeds):.0f} (at least 90), the median of {speeds}; {scores}")  # noqa: T201 - with -s


def failed(report: dict[str, Any]) -> list[str]:
    """Return what did not pass, performance left out."""
    audits = report["audits"]
    names = {
        reference["id"]
        for category, content in report["categories"].items()
        if category != "performance"
        for reference in content["auditRefs"]
        if reference["weight"]
    }
    return [
        f"{audits[name]['title']}: {json.dumps(audits[name].get('details', {}).get('items', []))[:400]}"
        for name in sorted(names)
        if audits[name]["score"] not in (1, None)
    ]
