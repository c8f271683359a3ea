"""A memory plan, or a part of it, answers the question about memory without the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from programs import mlp
from xla_inspect.analysis import parse_live_ranges
from xla_inspect.dumps import Files, list_modules, read_capture
from xla_inspect.errors import InspectError
from xla_inspect.practice import dump
from xla_inspect.questions import load_part
from xla_inspect.questions.memory import explain_memory
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

BUFFERS, RANGES, REPORT = "-buffer-assignment.txt", "-live-range.txt", "-memory-usage-report.txt"


@pytest.fixture(scope="module", params=["cpu", "h100", "tpu-v5e"])
def files(request: pytest.FixtureRequest, all_targets: None, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The dump of a program for one target."""
    del all_targets
    folder = tmp_path_factory.mktemp("plan")
    dump(find_target(request.param), folder, mlp.mlp, *mlp.EXAMPLE)
    return Files.from_folder(folder)


def read_only(files: Files, *endings: str, rename: str = "") -> Capture:
    chosen = {rename or name: files.read(name) for name in files.names if "mlp" in name and name.endswith(endings)}
    assert chosen
    selection = Files.from_mapping(chosen, "plan")
    (module,) = list_modules(selection)
    return read_capture(selection, module)


def test_a_plan_without_its_module_gives_the_same_bytes(files: Files) -> None:
    expected = explain_memory(read_only(files, "after_optimizations.txt", BUFFERS, RANGES), "")
    answer = explain_memory(read_only(files, BUFFERS, RANGES), "")
    # The names of a TPU's files do not name the target, and the module shows it by its layouts alone.
    assert answer.target in {expected.target, "unknown"}
    assert (answer.needed_bytes, answer.fits) == (expected.needed_bytes, expected.fits)
    for roles in (("argument",), ("result",), ("temporary", "saved"), ("gap",)):
        assert answer.sum_roles(*roles) == expected.sum_roles(*roles), roles
    assert [row for row in answer.rows if not row.place and row.role != "gap"] == []


def test_a_buffer_assignment_alone_gives_the_bytes_by_purpose(files: Files) -> None:
    expected = explain_memory(read_only(files, "after_optimizations.txt", BUFFERS, RANGES), "")
    capture = read_only(files, BUFFERS, rename="assignment.txt")
    answer = explain_memory(capture, "")
    assert (answer.basis, answer.needed_bytes) == ("plan", expected.needed_bytes)
    assert answer.sum_roles("argument") == expected.sum_roles("argument")
    assert "no live ranges" in capture.missing["live_ranges"]


def test_live_ranges_alone_give_the_values_at_the_peak_and_no_verdict(files: Files) -> None:
    ranges = next(files.read(name).decode() for name in files.names if "mlp" in name and name.endswith(RANGES))
    answer = explain_memory(read_only(files, RANGES, rename="ranges.txt"), "")
    assert (answer.basis, answer.fits, answer.needed_bytes) == ("live ranges", None, parse_live_ranges(ranges).peak)
    assert {row.place for row in answer.rows} == {
        name for name, _, size in parse_live_ranges(ranges).peak_values if size
    }
    assert "The memory that the program needs is not known" in str(next(iter(answer.tell())))


def test_a_usage_report_alone_gives_the_total(files: Files) -> None:
    report = next(files.read(name).decode() for name in files.names if "mlp" in name and name.endswith(REPORT))
    answer = explain_memory(read_only(files, REPORT, rename="report.txt"), "")
    assert (answer.basis, answer.needed_bytes) == ("usage report", int(report.split("Total bytes: ")[1].split()[0]))
    assert {row.role for row in answer.rows} == {"unknown"}
    assert all(row.place in report for row in answer.rows)


@pytest.mark.parametrize("question", ["summary", "collectives", "kernels"])
def test_other_questions_name_what_a_plan_lacks(question: str, files: Files) -> None:
    capture = read_only(files, BUFFERS)
    with pytest.raises(InspectError, match="has no HLO module, but only a memory plan or a part of it, which answers"):
        load_part(question, "finding").answer_dump(capture, "")


@pytest.mark.parametrize("ending", [BUFFERS, RANGES])
def test_a_part_of_a_plan_that_is_cut_off_is_reported_with_its_line(ending: str, files: Files) -> None:
    whole = next(files.read(name) for name in files.names if "mlp" in name and name.endswith(ending))
    cut = whole[: whole.index(b"\n", len(whole) // 2) - 2]
    selection = Files.from_mapping({"plan.txt": cut}, "plan.txt")
    (module,) = list_modules(selection)
    line = cut.count(b"\n") + 1
    with pytest.raises(InspectError, match=rf"plan\.txt: .* cannot be read \(it is cut off\): line {line}, "):
        read_capture(selection, module)
