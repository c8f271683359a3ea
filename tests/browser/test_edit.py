"""A program is edited in its place on a served page: its views are made anew, and what it no longer says is struck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from . import editing
from .test_access import judge
from .visits import PHONE, POLICY, WIDE
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser, BrowserContext, Page

    from .editing import Served

THREE = editing.PROGRAM.replace("2 *", "3 *")
PATIENCE = 60
"""Seconds that a test waits for an edit, the first of which starts a process."""
SAYS = "text => document.querySelector('.edit-said')?.textContent.includes(text)"


@pytest.fixture
def context(browser: Browser, request: pytest.FixtureRequest) -> Generator[BrowserContext]:
    """A browser that has kept nothing, with the options that a test gives."""
    options = {"viewport": {"width": WIDE, "height": 900}, "reduced_motion": "reduce", **getattr(request, "param", {})}
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, edited_site: Served) -> Generator[Page]:
    """The page with the program; its policy blocks nothing, and no script of it fails."""
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.extend([message.text] * (POLICY in message.text)))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(edited_site.address, wait_until="load")
    yield page
    assert faults == []


def open_editor(page: Page) -> None:
    page.get_by_role("button", name="Edit toy.py here").click()
    page.locator(".edit-host").get_by_role("textbox").wait_for()


def type_program(page: Page, text: str) -> None:
    """Put a text in the place of the program, as who pastes it does."""
    box = page.locator(".edit-host").get_by_role("textbox")
    box.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def wait_for(page: Page, said: str) -> None:
    wait_until(page, SAYS, said, seconds=PATIENCE)


def find_table(page: Page) -> list[str]:
    return page.locator("article table td:nth-child(2)").all_text_contents()


def test_an_edit_shows_the_tables_values_and_listings_that_come_of_it(page: Page, edited_site: Served) -> None:
    own = page.locator("article").inner_html().split()
    assert find_table(page) == ["2", "4", "6"]
    open_editor(page)
    type_program(page, THREE)
    wait_for(page, "made anew in")
    assert find_table(page) == ["3", "6", "9"]
    assert page.locator(".value").inner_text() == "18"
    assert page.locator("del.edit-was").inner_text() == "12"
    assert "return [3 *" in page.locator("article .highlight").first.inner_text()
    unchanged = page.get_by_text("Nothing of the program stands here.")
    assert not unchanged.evaluate("element => element.matches('.from-edit')")
    assert edited_site.program.read_text() == editing.PROGRAM
    page.get_by_role("button", name="Close").click()
    assert " ".join(page.locator("article").inner_html().split()).replace("> <", "><") == " ".join(own).replace(
        "> <", "><"
    )


def test_a_sentence_that_no_longer_holds_is_struck_with_what_is_true_now(page: Page) -> None:
    open_editor(page)
    type_program(page, THREE)
    wait_for(page, "1 check no longer holds")
    struck = page.locator("del.edit-untrue").all_text_contents()
    assert "".join(struck) == "Every number is even, whatever it was."
    note = page.locator("details.edit-note")
    assert note.locator("summary").inner_text() == "Not so for your edit: Every number is even"
    assert "number was 3" in (note.locator("p").text_content() or "")
    type_program(page, editing.PROGRAM.replace("2 *", "4 *"))
    wait_until(page, "() => !document.querySelector('.edit-untrue')", seconds=PATIENCE)
    assert find_table(page) == ["4", "8", "12"]


def test_an_error_is_told_at_its_line_and_the_last_result_stays(page: Page) -> None:
    open_editor(page)
    type_program(page, THREE)
    wait_for(page, "made anew in")
    type_program(page, editing.PROGRAM.replace("2 *", "(2 /"))
    page.locator(".edit-faults").get_by_text("SyntaxError").wait_for()
    type_program(page, editing.PROGRAM.replace("2 * number", "number / 0"))
    page.locator(".edit-faults").get_by_text("ZeroDivisionError").wait_for()
    wait_for(page, "The page shows the one before it.")
    assert page.locator(".edit-faults li").inner_text().startswith("Line 6: ")
    assert find_table(page) == ["3", "6", "9"]
    page.get_by_role("button", name="Line 6").click()
    assert page.locator(".edit-host").evaluate("element => element.contains(document.activeElement)")


def test_the_way_back_leads_to_the_pages_own(page: Page) -> None:
    open_editor(page)
    own = page.locator("article table").inner_html()
    type_program(page, THREE)
    wait_for(page, "made anew in")
    page.get_by_role("button", name="Back to the page's own").click()
    assert page.locator("article table").inner_html() == own
    assert page.locator(".from-edit, .edit-untrue, .edit-was").count() == 0
    assert "2 * number" in page.locator(".edit-host").inner_text()


def test_an_edit_is_there_again_when_the_page_is_loaded_again(page: Page) -> None:
    open_editor(page)
    type_program(page, THREE)
    wait_for(page, "made anew in")
    page.reload()
    wait_for(page, "made anew in")
    assert find_table(page) == ["3", "6", "9"]
    page.get_by_role("button", name="Close").click()
    page.reload()
    page.get_by_role("button", name="Edit toy.py here").wait_for()
    assert page.locator(".edit-panel").count() == 0


def test_a_second_edit_takes_the_place_of_one_that_runs_for_ever(page: Page) -> None:
    open_editor(page)
    type_program(page, editing.PROGRAM.replace("    return", "    while True: pass\n    return"))
    wait_for(page, " s")
    page.wait_for_timeout(1000)
    type_program(page, THREE)
    wait_for(page, "made anew in")
    assert find_table(page) == ["3", "6", "9"]


def test_a_run_that_takes_long_says_so_and_can_be_stopped(page: Page) -> None:
    open_editor(page)
    type_program(page, editing.PROGRAM.replace("    return", "    while True: pass\n    return"))
    wait_until(page, "() => /^[23] s/.test(document.querySelector('.edit-said').textContent)", seconds=PATIENCE)
    page.get_by_role("button", name="Stop").click()
    wait_for(page, "Stopped.")
    type_program(page, THREE)
    wait_for(page, "made anew in")


@pytest.mark.parametrize(
    "code", ["import os\nos.kill(os.getpid(), 9)\n", "import os\nos._exit(0)\n", "raise SystemExit\n"]
)
def test_a_program_that_ends_its_process_leaves_the_server_up(page: Page, code: str) -> None:
    open_editor(page)
    type_program(page, code)
    page.locator(".edit-faults li").wait_for()
    type_program(page, THREE)
    wait_for(page, "made anew in")
    assert find_table(page) == ["3", "6", "9"]


def test_two_windows_edit_at_a_time(page: Page, context: BrowserContext, edited_site: Served) -> None:
    other = context.new_page()
    other.goto(edited_site.address, wait_until="load")
    for window, factor in ((page, 3), (other, 5)):
        open_editor(window)
        type_program(window, editing.PROGRAM.replace("2 *", f"{factor} *"))
    for window, factor in ((page, 3), (other, 5)):
        wait_for(window, "made anew in")
        assert find_table(window) == [str(factor * number) for number in (1, 2, 3)]


def test_a_page_of_which_nothing_changes_says_so(page: Page, edited_site: Served) -> None:
    page.goto(f"{edited_site.address}/other/", wait_until="load")
    open_editor(page)
    type_program(page, THREE)
    wait_for(page, "Nothing on this page changes")


def test_the_keyboard_alone_edits_and_leads_back(page: Page) -> None:
    page.get_by_role("button", name="Edit toy.py here").focus()
    page.keyboard.press("Enter")
    page.locator(".edit-host").get_by_role("textbox").wait_for()
    wait_until(page, "() => document.querySelector('.edit-host').contains(document.activeElement)", seconds=PATIENCE)
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.insert_text("\n\ndef unused() -> None:\n    pass\n\n\ndouble = unused\n")
    page.keyboard.press("ControlOrMeta+Enter")
    page.locator(".edit-faults li").wait_for()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(THREE)
    page.keyboard.press("ControlOrMeta+Enter")
    wait_for(page, "made anew in")
    # The editor keeps the Tab key; Escape lets the next one leave it.
    for _ in range(6):
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Back to the page's own":
            break
    page.keyboard.press("Enter")
    wait_for(page, "This is the page's own.")
    assert find_table(page) == ["2", "4", "6"]


LOOKS = [
    {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    for width in (WIDE, PHONE)
    for scheme in ("light", "dark")
]


@pytest.mark.parametrize(
    "context", LOOKS, indirect=True, ids=lambda look: f"{look['viewport']['width']} {look['color_scheme']}"
)
def test_axe_finds_nothing_in_an_edit_and_nothing_runs_out_of_the_window(page: Page) -> None:
    open_editor(page)
    type_program(page, THREE)
    wait_for(page, "made anew in")
    assert page.locator("details.edit-note p").is_visible()
    assert judge(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    type_program(page, editing.PROGRAM.replace("2 * number", "number / 0"))
    page.locator(".edit-faults").get_by_text("ZeroDivisionError").wait_for()
    assert judge(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
