"""The dump reader of the page, called directly: partial reads of files, answers and failures."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from inside_xla.dump_reader import DumpReader, PageFile
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable

HLO = """HloModule jit_add, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY main {
  x = f32[4]{0} parameter(0)
  ROOT y = f32[4]{0} add(x, x)
}
"""


class Given(bytes):
    """Bytes with the method by which Pyodide converts bytes of the page's script."""

    __slots__ = ()

    def to_bytes(self) -> bytes:  # type: ignore[override]  # as Pyodide calls it
        return bytes(self)


def give(files: dict[str, bytes], requests: list[int]) -> tuple[str, Callable[[int, int, int], Given]]:
    """Return the reader's arguments: the files as JSON and a function that reads, with sizes in `requests`."""
    contents = [*files.values()]

    def read(number: int, start: int, end: int) -> Given:
        requests.append(end - start)
        return Given(contents[number][start:end])

    return json.dumps([[name, len(content)] for name, content in files.items()]), read


def test_only_the_beginnings_of_a_large_dump_are_read() -> None:
    large = HLO.encode() + b"// filler\n" * 1_000_000
    names = ("before_optimizations", "0001.a.after_b.before_c", "cpu_after_optimizations")
    files = {f"dump/module_0000.jit_add.{name}.txt": large for name in names}
    requests: list[int] = []
    answer = json.loads(DumpReader(lambda _: None).open(*give(files, requests)))
    assert [(module["key"], module["passes"], module["bytes"]) for module in answer["modules"]] == [
        ("module_0000.jit_add", 1, 3 * len(large))
    ]
    assert answer["title"] == "dump"
    assert sum(requests) < len(large) / 10


def test_a_module_is_read_and_queried_without_a_folder() -> None:
    messages: list[str] = []
    reader = DumpReader(messages.append)
    reader.open(
        *give({"module.hlo": HLO.replace("HloModule jit_add", "HloModule jit_add, is_scheduled=true").encode()}, [])
    )
    missing = reader.read(0)
    assert "module.hlo:jit_add" in reader.answer("kernels")  # as the command line would name it
    assert json.loads(reader.read_explorer())["program"] == "jit_add"
    assert "(there is no module between passes in this dump" in missing
    assert messages[0].startswith("reading jit_add")
    assert "1 kernel" in reader.answer("kernels")
    assert "jit_add" in reader.answer("summary")
    reader.close()
    with pytest.raises(InspectError, match="no module is open; choose one in the table"):
        reader.answer("kernels")


def test_an_archive_is_read_partially() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("dump/module_0000.jit_add.cpu_after_optimizations.txt", HLO)
        archive.writestr("dump/module_0000.jit_add.0001.a.after_b.before_c.txt", HLO + "// filler\n" * 2_000_000)
    requests: list[int] = []
    reader = DumpReader(lambda _: None)
    answer = json.loads(reader.open(*give({"dump.zip": packed.getvalue()}, requests)))
    assert [module["name"] for module in answer["modules"]] == ["jit_add"]
    assert sum(requests) < len(packed.getvalue()) / 2
    reader.read(0)
    assert json.loads(reader.read_explorer())["program"] == "jit_add"


def test_a_file_of_the_page_is_searched_as_any_file() -> None:
    content = bytes(range(256)) * 10
    ours, theirs = PageFile(len(content), lambda start, end: content[start:end]), io.BytesIO(content)
    for offset, whence, most in ((5, 0, 7), (3, 1, 300), (-4, 2, 9), (9_000, 0, 4), (0, 0, -1)):
        assert (ours.seek(offset, whence), ours.read(most)) == (theirs.seek(offset, whence), theirs.read(most))


@pytest.mark.parametrize(
    ("error", "message", "is_fault"),
    [
        (InspectError("the dump is empty; choose another"), "the dump is empty; choose another", False),
        (MemoryError(), "It takes more memory than a browser has for it", False),
        (KeyError("x"), "KeyError: 'x'", True),
    ],
)
def test_errors_are_reported_and_internal_errors_marked(
    monkeypatch: pytest.MonkeyPatch, error: Exception, message: str, *, is_fault: bool
) -> None:
    monkeypatch.setattr(sys, "last_exc", error, raising=False)
    answer = json.loads(DumpReader(lambda _: None).explain())
    assert answer["message"].startswith(message)
    assert answer.get("isFault", False) == is_fault
