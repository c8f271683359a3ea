"""Child processes: limits, output by line, the end of the parent, and explained exits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xla_inspect.process import Child, Limits, explain_end

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sessions and signals are those of POSIX")
PYTHON = [sys.executable, "-I"]
FOREVER = "import time; print('on', flush=True); time.sleep(600)"
HOLDING = f"held = b'x' * (256 << 20); {FOREVER}"
START = "import subprocess, sys; subprocess.Popen"


def is_alive(process: int) -> bool:
    """Return whether a process runs, excluding zombies."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(*processes: int) -> list[int]:
    """Return the processes that still run after 20 seconds; return earlier once none runs."""
    until = time.monotonic() + 20
    while time.monotonic() < until and any(map(is_alive, processes)):
        time.sleep(0.02)
    return [process for process in processes if is_alive(process)]


@pytest.mark.parametrize(
    ("limits", "program", "excess"),
    [
        (Limits(seconds=0.5), FOREVER, "time"),
        (Limits(seconds=0.5), "while True: pass", "time"),
        (Limits(seconds=60, memory=64 << 20), HOLDING, "memory"),
        (Limits(seconds=60, memory=64 << 20), f"{START}([sys.executable, '-c', {HOLDING!r}]).wait()", "memory"),
        (Limits(output=1000), "while True: print('x' * 99)", "output"),
        (Limits(output=1000), "import sys\nwhile True: sys.stdout.write('x' * 99)", "output"),
    ],
)
def test_a_process_above_a_limit_is_ended_with_the_limits_name(limits: Limits, program: str, excess: str) -> None:
    # Without its limit the process would go on for ever, and the test with it.
    with Child(PYTHON, f"import signal; signal.alarm(30)\n{program}", limits=limits) as child:
        for _ in child:
            pass
        assert child.end() == -signal.SIGKILL
        assert child.excess == excess


def test_a_process_within_its_limits_ends_by_itself() -> None:
    with Child(PYTHON, "print('done'); exit(3)", limits=Limits(60, 1 << 30, 1000)) as child:
        assert [*child] == ["done\n"]
        assert (child.process.wait(), child.excess) == (3, "")


def test_each_task_has_the_whole_limit_of_time() -> None:
    program = "import time\nfor at in range(5): time.sleep(0.4); print(at, flush=True)"
    with Child(PYTHON, program, limits=Limits(seconds=1.5)) as child:
        for _ in child:
            child.restart_clock()
        assert (child.process.wait(), child.excess) == (0, "")


def test_a_line_is_waited_for_no_longer_than_asked() -> None:
    with Child(PYTHON, "for line in iter(input, 'end'): print(line.upper(), flush=True)") as child:
        child.send("one")
        assert child.listen(30) == "ONE\n"
        assert not child.listen(0.1)
        child.send("two")
        assert child.listen(30) == "TWO\n"
        child.send("end")
        assert not child.listen(30)
        assert child.end() == 0
        child.send("nobody hears it")


def test_its_child_processes_end_with_it() -> None:
    program = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdout=2).pid)"
    with Child([*PYTHON, "-u"], f"{program}; {FOREVER}", [FOREVER]) as child:
        below = int(child.listen(30))
    assert wait_until_gone(below) == []


@pytest.mark.parametrize("has_session", [True, False])
def test_it_cleans_up_and_ends_if_its_parent_is_killed(tmp_path: Path, *, has_session: bool) -> None:
    mark = tmp_path / "cleaned"
    parent = (
        "import sys; from xla_inspect.process import Child; child = Child([sys.executable], "
        f"'import os, time; print(os.getpid(), flush=True); time.sleep(600)', has_session={has_session}, "
        f"cleaning={f'open({str(mark)!r}, chr(119)).close()'!r}); print(child.listen(30), flush=True); "
        "child.listen(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    with process.stdout:
        below = int(process.stdout.readline())
        assert is_alive(below)
        process.kill()
        process.wait()
    assert wait_until_gone(below) == []
    assert mark.is_file()


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("exit(7)", "exit status 7"),
        ("import os; os.abort()", "signal SIGABRT; XLA ends a process so when it meets what it cannot go on with"),
        ("import os; os.kill(os.getpid(), 9)", "signal SIGKILL; the system ends a process so when memory runs out"),
        (
            "import os; os.kill(os.getpid(), 11)",
            "signal SIGSEGV; what crashed is not Python: a library that the code calls, or recursion without end",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 5)", "signal 39"),
    ],
)
def test_the_end_of_a_process_is_explained(program: str, end: str) -> None:
    with Child(PYTHON, program) as child:
        assert explain_end(child.process.wait()) == end
