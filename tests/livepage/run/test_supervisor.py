"""A build that is stopped ends as a whole, names the line that ran, and is no success."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Site

PAGE = """
    # A

    ```python exec="on"
    import os, time
    print(open("{started}", "w").write(str(os.getpid())))
    time.sleep(60)
    ```
    """


def is_running(process: int) -> bool:
    """Whether a process is there, and no zombie that nobody waits for."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as status:  # noqa: PTH123 - no file of a disk
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # not there, or gone between opening and reading
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGTERM, -signal.SIGTERM, "docs/a.md:6: the process ended while this line ran"),
        (signal.SIGINT, 1, "docs/a.md:6: interrupted while this line ran"),
        (signal.SIGKILL, -signal.SIGKILL, "docs/a.md:6: the process ended while this line ran"),
    ],
)
def test_a_build_that_is_stopped_ends_as_a_whole(
    site: Site, tmp_path: Path, number: signal.Signals, code: int, said: str
) -> None:
    started = tmp_path / "started"
    site.write({"docs/a.md": PAGE.format(started=started)})
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    build = subprocess.Popen(command, cwd=site.root, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not (started.exists() and started.read_text(encoding="utf-8")):
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.5)
    child = int(started.read_text(encoding="utf-8"))
    assert child != build.pid
    build.send_signal(number)
    heard = build.communicate(timeout=60)[1]
    assert build.returncode == code
    assert said in heard
    assert "Traceback" not in heard
    assert not is_running(child)
    assert not (site.root / "site/built.json").exists()


def test_a_strict_build_that_is_to_be_quiet_still_fails_for_a_page(site: Site) -> None:
    site.write({"docs/a.md": '# A\n\n```python check="Four"\nfour = 3\nassert four == 4\n```\n'})
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(command, cwd=site.root, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "docs/a.md:5: AssertionError: left was 3, right was 4" in done.stderr
