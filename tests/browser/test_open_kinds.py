"""Files of every kind give the answer or the message of the command line on the page that opens a dump."""

from __future__ import annotations

import io
import shlex
from typing import TYPE_CHECKING

import pytest

from xla_inspect.commands import run_here

from .opened_kinds import AWKWARD, write_kinds
from .test_access import judge

if TYPE_CHECKING:
    from pathlib import Path

    from .opened_dump import Opened

STEP = "jit_opened_step"
KINDS = {
    f"{AWKWARD}.xplane.pb": ("kernels", STEP),
    "profile": ("kernels", STEP),
    "my buffer-assignment.txt": ("memory", ""),
    "my live-range.txt": ("memory", ""),
    "my memory-usage-report.txt": ("memory", ""),
    "step.bin": ("memory", ""),
    "step.pkl.gz": ("summary", ""),
    "issue.md": ("kernels", ""),
    "notebook.txt": ("summary", ""),
    "run.log": ("kernels", ""),
    "dump": ("memory", STEP),
    "mixed.zip": ("summary", "xplane.pb/module_"),
}
"""The question about each kind of file that opens, and a part of the key of its module if there are several."""

PROGRAMS = (f"{AWKWARD}.mlir", "step.vhlo", "exported", "step.mlir.gz")
REFUSED = ("cut.hlo", "cut.xplane.pb", "net", "net.onnx", "net.tflite", "graph.dot", "vm.trace.json.gz")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("kinds")
    write_kinds(folder)
    return folder


@pytest.fixture(autouse=True)
def place(kinds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let command lines name the files as the page does."""
    monkeypatch.chdir(kinds)


def ask(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    return run_here(words, out), " ".join(out.getvalue().partition("\n\n")[0].split())


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_that_needs_no_compiler_is_answered_as_on_the_command_line(
    dump_page: Opened, kinds: Path, name: str
) -> None:
    question, module = KINDS[name]
    dump_page.give(kinds / name)
    if module:
        dump_page.open(next(row[0] for row in dump_page.rows() if module in row[0]))
    key = dump_page.page.locator(".module h2").evaluate("title => title.textContent")
    dump_page.show(question)
    assert (0, dump_page.first_line) == ask(question, f"{name}:{key}")


def test_a_program_that_did_not_run_in_its_profile_has_launches_without_times(dump_page: Opened, kinds: Path) -> None:
    dump_page.give(kinds / "profile")
    dump_page.open("jit_earlier_step")
    assert "belongs to jit_earlier_step, so the times of its launches are not known" in dump_page.show("kernels")
    assert dump_page.first_line.startswith("jit_earlier_step on CPU: ")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_command_for_a_program_can_be_pasted(dump_page: Opened, kinds: Path, name: str) -> None:
    dump_page.give(kinds / name)
    words = shlex.split(dump_page.refused.rpartition("run: ")[2])
    assert words[:2] == ["xla-inspect", "summary"]
    status, line = ask(*words[1:], "--target", "cpu")
    assert (status, "kernels on CPU" in line) == (0, True)


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_without_an_answer_gets_the_message_of_the_command_line(
    dump_page: Opened, kinds: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dump_page.give(kinds / name)
    assert ask("read" if name == "net" else "kernels", name) == (2, "")
    assert dump_page.refused.split() == capsys.readouterr().err.removeprefix("xla-inspect: ").split()


def test_the_rest_of_a_mixed_archive_is_listed_with_its_commands(dump_page: Opened, kinds: Path) -> None:
    dump_page.give(kinds / "mixed.zip")
    listed = dump_page.page.locator(".left-out li").all_inner_texts()
    assert judge(dump_page.page) == []
    assert [text.partition(": ")[0] for text in listed] == [f"{AWKWARD}.mlir", "net.onnx"]
    words = shlex.split(listed[0].rpartition("run: ")[2])
    assert ask(*words[1:], "--target", "cpu")[0] == 0


def test_a_memory_plan_alone_opens_its_memory(dump_page: Opened, kinds: Path) -> None:
    dump_page.give(kinds / "step.bin")
    dump_page.show("explorer")
    dump_page.give(kinds / "my live-range.txt")
    assert dump_page.page.locator("[aria-selected=true]").first.inner_text() == "Memory at the peak"


def test_files_that_are_chosen_together_are_read_whatever_their_names_are(dump_page: Opened, kinds: Path) -> None:
    dump_page.give(kinds / "issue.md", kinds / "step.bin", kinds / f"{AWKWARD}.xplane.pb", kinds / "net.onnx")
    keys = [row[0] for row in dump_page.rows()]
    assert STEP in keys
    assert any(key.startswith(AWKWARD) and key.endswith(STEP) for key in keys)
    assert dump_page.page.locator(".left-out summary").inner_text() == "1 file not shown"
    assert dump_page.page.locator(".open-dump img").count() == 0
