"""The parts of a process's output that are passed on."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from xla_inspect.terminal import Paper, cut_names, drop_logs

if TYPE_CHECKING:
    import pytest

LOGS = (
    "E1125 20:43:09.675548    9357 gpu_hlo_schedule.cc:1076] The byte size exceeds the base limit.\n",
    "W0101 00:00:00.000001 1 xla/service/slow_operation_alarm.cc:73] \n",
    "I1125 20:43:09.675548 12345678 text_format.h:2] no field named mem_clock_ghz\n",
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n",
)
OTHERS = (
    "compiling f for cpu ...\n",
    "E1125 is my error\n",
    "F1125 20:43:09.675548 1 stream.cc:7] Check failed: this ends the process\n",
    "I1125 20:43:09.675548 1 train.py:7] the reader's own log\n",
    "WARNING: mine\n",
)


def test_logs_of_xla_are_dropped_and_everything_else_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CPP_VMODULE", raising=False)
    assert tuple(drop_logs((*LOGS, *OTHERS))) == OTHERS


def test_logs_that_were_asked_for_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CPP_VMODULE", "hlo_pass_pipeline=1")
    assert tuple(drop_logs(LOGS)) == LOGS


def test_names_of_hundreds_of_characters_are_cut_in_the_middle() -> None:
    name = f"a_function_{'x' * 580}_of_layer"
    assert cut_names(f"{name} on CPU") == "a_function_xxxxx…xxxxxxx_of_layer on CPU"
    path = "/home/reader/projects/model/src/model/layers/attention/blocks/model.py:12"
    assert cut_names(path) == path


def test_an_answer_in_a_narrow_terminal_has_no_long_line_but_what_is_to_be_typed() -> None:
    name = "n" * 600
    paper = Paper(io.StringIO(), width=40, fold=True)
    paper.say(f"{name} on CPU: 2 kernels.")
    paper.heading(name)
    paper.table(("launch", "where"), [(name, f"model.py:5 return x; [{name}/tanh]")])
    paper.verdict(name, good=True)
    paper.hint("One of them:", f"xla-inspect kernels model.py:{name}")
    lines = paper.stream.getvalue().splitlines()  # type: ignore[attr-defined]  # it is a text in memory
    assert [line for line in lines if len(line) > 60] == [f"    xla-inspect kernels model.py:{name}"]
