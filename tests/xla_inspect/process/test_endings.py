"""The last line of a file before its process ended, from the output of `faulthandler`."""

from __future__ import annotations

from pathlib import Path

import pytest

from xla_inspect.process import find_line, name_end

LATE = 'Thread 0x01 (most recent call first):\n  File "jax.py", line 9 in trace\n  File "edit.py", line 5 in f\n'
CRASH = 'Fatal Python error: Aborted\n\nThread 0x01 (most recent call first):\n  File "edit.py", line 7 in f\n'


def test_the_line_is_the_innermost_of_the_file() -> None:
    assert find_line(LATE, Path("edit.py")) == 5
    assert find_line(LATE, Path("other.py")) is None


def test_the_line_of_a_late_crash_is_that_of_the_crash() -> None:
    assert find_line(LATE + CRASH, Path("edit.py")) == 7


@pytest.mark.parametrize(
    ("code", "end"),
    [(3, "exit status 3"), (-9, "signal SIGKILL"), (-39, "signal 39"), (-63, "signal 63"), (-200, "signal 200")],
)
def test_each_end_of_a_process_has_a_name(code: int, end: str) -> None:
    assert name_end(code) == end
