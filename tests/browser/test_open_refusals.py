"""Rejected inputs of the page that opens a dump: each gets a message and does not affect the next dump."""

from __future__ import annotations

import io
import re
import zipfile
from typing import TYPE_CHECKING

import pytest

from .opened_dump import HLO
from .waiting import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from .opened_dump import Opened


def pack(**members: bytes) -> bytes:
    """Return a zip file of members by their names, in which `__` stands for a slash."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name.replace("__", "/"), member)
    return content.getvalue()


VIEWS = ("explorer", "summary", "memory", "kernels", "collectives")
REFUSED = {
    "notes.txt": (b"nothing of XLA's\n", "is a text without an HLO module"),
    "image.bin": (bytes(range(256)) * 20, "is a binary file of an unknown kind"),
    "empty.hlo": (b"", "is empty"),
    "cut.zip": (pack(a=b"x" * 5000)[:-40], "cannot be read"),
    "bomb.zip": (pack(**{"module_0000.a.before_optimizations.txt": bytes(300 << 20)}), "which no dump does"),
    "climbs.zip": (pack(**{"..__..__module_0000.a.before_optimizations.txt": HLO.encode()}), "climbs out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_invalid_dump_is_rejected_with_a_message_and_the_page_still_works(dump_page: Opened, name: str) -> None:
    content, message = REFUSED[name]
    dump_page.give({"name": name, "mimeType": "application/octet-stream", "buffer": content})
    assert message in dump_page.refused
    assert "bug in the reader" not in dump_page.refused
    dump_page.give({"name": "add.hlo", "mimeType": "text/plain", "buffer": HLO.encode()})
    assert not dump_page.page.locator(".refused").is_visible()
    assert dump_page.page.locator(".module h2").inner_text() == "jit_add"


def test_a_rejected_dump_clears_the_previous_one(dump_page: Opened, dump: Path) -> None:
    dump_page.give(dump)
    assert dump_page.rows()
    dump_page.give({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"nothing of XLA's\n"})
    assert dump_page.rows() == []
    assert "is a text without an HLO module" in dump_page.refused


def test_an_empty_folder_is_rejected(dump_page: Opened) -> None:
    dump_page.page.evaluate("openDump.take([])")
    assert "There is no file in this folder" in dump_page.refused


def test_an_hlo_syntax_error_is_reported_with_its_line(dump_page: Opened) -> None:
    wrong = HLO.replace("add(x, x)", "add(x, nowhere)")
    dump_page.give({"name": "wrong.hlo", "mimeType": "text/plain", "buffer": wrong.encode()})
    assert re.search(r"line 5, column \d+", dump_page.refused)


def test_names_are_escaped(dump_page: Opened) -> None:
    evil = "<img src=x onerror=document.title=1>"
    text = HLO.replace("jit_add", "jit_<b>add</b>").replace("add(x, x)", f'add(x, x), metadata={{op_name="{evil}"}}')
    dump_page.give({"name": f"{evil}.hlo", "mimeType": "text/plain", "buffer": text.encode()})
    for view in VIEWS:
        dump_page.show(view)
    assert dump_page.page.locator(".open-dump img").count() == 0
    assert dump_page.page.evaluate("document.querySelectorAll('.open-dump b').length") == 0
    assert dump_page.page.title().startswith("Open a dump")


def test_a_stopped_question_can_be_asked_again(dump_anew: Opened, dump: Path) -> None:
    page = dump_anew.page
    dump_anew.give(dump)
    page.evaluate("() => { openDump.open(openDump.table.modules[0]); openDump.cancel.click() }")
    page.locator(".working [role=status]", has_text="Stopped.").wait_for()
    wait_for(page, lambda: page.workers == [])
    dump_anew.open("total")
    page.evaluate("() => { openDump.view.show('kernels'); openDump.cancel.click() }")
    page.locator("#dump-panel-kernels", has_text="Choose the view again").wait_for()
    assert "all-reduce" in dump_anew.show("collectives")
    assert "program.py:" in dump_anew.show("kernels")
    assert dump_anew.faults == []


def test_memory_is_released_after_a_large_dump(dump_anew: Opened, dump: Path) -> None:
    dump_anew.give(dump)
    (first,) = dump_anew.page.workers
    dump_anew.give(dump)
    assert dump_anew.page.workers == [first]
    dump_anew.page.evaluate("openDump.reader.used = 2 ** 30")
    dump_anew.give(dump)
    assert first not in dump_anew.page.workers
    assert len(dump_anew.page.workers) == 1
    assert len(dump_anew.rows()) == 2


def test_a_page_without_python_names_the_command_to_fetch_it(dump_anew: Opened) -> None:
    dump_anew.page.route("**/parts.json", lambda route: route.fulfill(json={"missing": "`some command` brings it."}))
    dump_anew.page.locator(".drop-zone").hover()
    dump_anew.page.locator(".refused", has_text="`some command` brings it.").wait_for()


def test_a_failed_fetch_of_the_reader_is_repeated(dump_anew: Opened, dump: Path) -> None:
    dump_anew.page.route("**/pyodide.asm.wasm", lambda route: route.abort())
    dump_anew.page.locator("input[name=folder]").set_input_files(dump)
    dump_anew.page.locator(".refused:not([hidden])").wait_for()
    dump_anew.page.unroute("**/pyodide.asm.wasm")
    dump_anew.give(dump)
    assert len(dump_anew.rows()) == 2
