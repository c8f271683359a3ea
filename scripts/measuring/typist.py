"""Somebody who types at random into a playground in a real browser, for as long as is asked, and loses nothing.

`scripts/bench typist [--minutes 60] [--seed 1] [--edits N]`. What the typist does is inserted, deleted, pasted, undone,
broken, typed fast, chosen and loaded anew, always with the keys that a reader has. Beside it runs a model of the text:
after each act the editor must hold what the model holds, each pause must be answered, and the memory of the server and
of the page must be flat.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import say
from measuring.playing import Playground, play

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser, CDPSession, Page, Request

LONGEST = 60
"""Seconds within which a pause is answered, where other work shares the machine."""
FLAT = 1.25
"""How often the memory of the first third of the time that of the last may be."""
LARGE = 5000
"""Characters from which on the typist begins anew."""
CHECKPOINT = 60
"""Seconds between two measurements of memory."""

READ = "() => globalThis.codeMirror.EditorView.findFromDOM(document.querySelector('.cm-content')).state.doc.toString()"
WORDS = (
    "x = x + 1",
    "jnp.sin(x)",
    "return x * 2",
    "y = x @ x.T",
    "# a remark",
    "if True:",
    "jax.nn.softmax(x)",
    "(",
    "]]",
    '"""',
    "def g(x):",
    "λ = 'é → ü'",
    "\\",
    "import no_such_module",
    "while True: pass",
    "1 / 0",
    "x.reshape(-1)",
    "    ",
    "0.5 * ",
    "print(x)",
)
PROGRAMS = (
    "import jax.numpy as jnp\n\n\ndef f(x):\n    return jnp.sin(x) * 2 + 1\n\n\nEXAMPLE = (jnp.ones((8, 8)),)\n",
    "import jax\nimport jax.numpy as jnp\n\n\ndef f(x, w):\n    return jax.nn.relu(x @ w)\n\n\n"
    "EXAMPLE = (jnp.ones((16, 32)), jnp.ones((32, 8)))\n",
    "import jax.numpy as jnp\n\n\ndef f(x):\n    y = x - x.max()\n    e = jnp.exp(y)\n    return e / e.sum()\n\n\n"
    "EXAMPLE = (jnp.ones((64,)),)\n",
)


@dataclass
class Sent:
    """What the page sent to be compiled.

    Attributes:
        code: The text.
        over: Whether it was answered to the end.
    """

    code: str
    over: bool = False


@dataclass
class Typist:
    """Types, and knows what must stand there.

    Attributes:
        page: The page of the playground.
        chance: Where each choice comes from.
        text: What the editor must hold.
        sent: What the page has sent, by the request.
        done: How often each act was done.
        lost: What was not as it must be.
    """

    page: Page
    chance: random.Random
    text: str = ""
    sent: dict[Request, Sent] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Hear of what the page sends, and of what fails in it."""
        self.listen()
        self.text = self.read()

    def listen(self) -> None:
        """Hear of what the page sends, and of what fails in it."""
        self.page.on("request", self._note)
        self.page.on("requestfinished", self._end)
        self.page.on("requestfailed", self._end)
        self.page.on("pageerror", lambda error: self.lost.append(f"the page failed: {error}"))
        self.page.on("crash", lambda: self.lost.append("the page crashed"))

    def _note(self, request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/compile"):
            self.sent[request] = Sent((request.post_data_json or {}).get("code", ""))

    def _end(self, request: Request) -> None:
        if request in self.sent:
            self.sent[request].over = True

    def read(self) -> str:
        """Return what the editor holds."""
        self.page.wait_for_selector(".cm-content", timeout=LONGEST * 1000)
        return str(self.page.evaluate(READ))

    def check(self, what: str, expected: str, *, exact: bool = True) -> None:
        """Hold the editor against the model; where it indents by itself, white space may differ."""
        found = self.read()
        same = found == expected if exact else "".join(found.split()) == "".join(expected.split())
        if not same:
            self.lost.append(f"after {what} the editor holds {found!r}, and not {expected!r}")
        self.text = found

    def act(self) -> None:
        """Do one thing."""
        acts = {
            self.insert: 30,
            self.delete: 16,
            self.type_lines: 8,
            self.paste: 8,
            self.undo_and_redo: 8,
            self.cut_and_undo: 4,
            self.choose_target: 3,
            self.change_arguments: 2,
            self.load_anew: 2,
            self.close_and_open: 1,
        }
        if len(self.text) > LARGE:
            self.begin_anew()
            return
        (act,) = self.chance.choices([*acts], [*acts.values()])
        self.done[act.__name__] += 1
        act()

    def go(self) -> int:
        """Move to a place by the keyboard, and return where it is in the text."""
        lines = self.text.split("\n")
        row = self.chance.randrange(len(lines))
        column = self.chance.randint(0, len(lines[row]))
        self.page.locator(".cm-content").focus()
        self.press("Control+Home")
        self.press("ArrowDown", row)
        self.press("End")
        self.press("ArrowLeft", len(lines[row]) - column)
        return sum(len(line) + 1 for line in lines[:row]) + column

    def press(self, key: str, times: int = 1) -> None:
        """Press a key."""
        for _ in range(times):
            self.page.keyboard.press(key)

    def insert(self) -> None:
        """Type some characters, slowly, fast, or faster than anybody."""
        at = self.go()
        words = self.chance.choice(WORDS)
        self.page.keyboard.type(words, delay=self.chance.choice((0, 0, 5, 40)))
        self.check("typing", self.text[:at] + words + self.text[at:], exact=False)

    def type_lines(self) -> None:
        """Type some lines, which the editor indents."""
        at = self.go()
        words = [self.chance.choice(WORDS) for _ in range(3)]
        for each in words:
            self.page.keyboard.type(each)
            self.press("Enter")
        self.check("typing lines", self.text[:at] + "\n".join([*words, ""]) + self.text[at:], exact=False)

    def delete(self) -> None:
        """Delete to the left or to the right."""
        at, count = self.go(), self.chance.randint(1, 12)
        if self.chance.random() < 0.5:  # noqa: PLR2004 - one of two
            self.press("Shift+ArrowLeft", count)
            left, right = max(at - count, 0), at
        else:
            self.press("Shift+ArrowRight", count)
            left, right = at, min(at + count, len(self.text))
        if left != right:
            self.press(self.chance.choice(("Backspace", "Delete")))
        self.check("deleting", self.text[:left] + self.text[right:])

    def paste(self) -> None:
        """Paste a text from the clipboard."""
        at = self.go()
        words = self.chance.choice((*PROGRAMS, *WORDS, "x = 1\r\ny = 2\r\n", "\t\tdeep\n", "# " + "long " * 100))
        self.page.evaluate("text => navigator.clipboard.writeText(text)", words)
        self.press("Control+v")
        words = words.replace("\r\n", "\n")
        self.check("pasting", self.text[:at] + words + self.text[at:])

    def undo_and_redo(self) -> None:
        """Take some edits back, and make them again."""
        before, count = self.text, self.chance.randint(1, 6)
        self.page.locator(".cm-content").focus()
        self.press("Control+z", count)
        if self.chance.random() < 0.3:  # noqa: PLR2004 - at times long enough for what was taken back to be compiled
            self.page.wait_for_timeout(900)
        self.press("Control+y", count)
        self.check("undo and redo", before)

    def cut_and_undo(self) -> None:
        """Lose all, and want it back."""
        before = self.text
        self.page.locator(".cm-content").focus()
        self.press("Control+a")
        self.press(self.chance.choice(("Control+x", "Backspace")))
        self.check("deleting all", "")
        self.page.wait_for_timeout(self.chance.choice((0, 900)))
        self.press("Control+z")
        self.check("undoing that", before)

    def begin_anew(self) -> None:
        """Replace all by a program."""
        program = self.chance.choice(PROGRAMS)
        self.page.locator(".cm-content").focus()
        self.press("Control+a")
        self.page.evaluate("text => navigator.clipboard.writeText(text)", program)
        self.press("Control+v")
        self.check("pasting over all", program)

    def choose_target(self) -> None:
        """Switch a target on or off, as long as the CPU is left."""
        fold = self.page.locator("details.options")
        fold.evaluate("fold => fold.open = true")
        boxes = fold.locator(".targets input:enabled:not([name=cpu])")
        boxes.nth(self.chance.randrange(boxes.count())).click()
        self.check("choosing a target", self.text)

    def change_arguments(self) -> None:
        """Make one size of the arguments another."""
        field = self.page.get_by_label("Arguments", exact=False).locator("visible=true").first
        if field.count() and field.is_editable():
            field.focus()
            self.press("End")
            self.press("ArrowLeft")
            self.page.keyboard.type(self.chance.choice("248"))
        self.check("changing arguments", self.text)

    def load_anew(self) -> None:
        """Load the page anew, at once, whatever it is doing."""
        self.page.reload()
        self.check("loading anew", self.text)

    def close_and_open(self) -> None:
        """Close the window, and open another."""
        address, context = self.page.url, self.page.context
        self.page.close()
        self.sent.clear()
        self.page = context.new_page()
        self.listen()
        self.page.goto(address.partition("#")[0])
        self.check("closing and opening", self.text)

    def pause(self) -> None:
        """Stop typing until what stands there was answered."""
        start = time.monotonic()
        while time.monotonic() - start < LONGEST:
            if any(each.over and each.code == self.text for each in self.sent.values()):
                break
            self.page.wait_for_timeout(50)
        else:
            self.lost.append(f"a pause was not answered in {LONGEST} s, at {self.text!r}")
        self.waits.append(time.monotonic() - start)
        for request in [each for each, sent in self.sent.items() if sent.over and sent.code != self.text]:
            del self.sent[request]


def weigh(page: Page) -> tuple[float, int]:
    """Return the megabytes that the page's scripts hold, once what nobody needs is gone, and the count of its nodes."""
    session: CDPSession = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    told: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    found = {each["name"]: each["value"] for each in told}
    return found["JSHeapUsedSize"] / 2**20, int(found["Nodes"])


def type_for(browser: Browser, server: Playground, minutes: float, seed: int, edits: int) -> list[str]:
    """Type, say how it goes, and return what was lost."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(server.address)
    typist = Typist(page, random.Random(seed))  # noqa: S311 - the same each time is what is wanted
    typist.begin_anew()
    start = mark = time.monotonic()
    weights: list[tuple[float, float, float]] = []
    pauses = 0
    while time.monotonic() - start < minutes * 60 and (not edits or pauses < edits):
        typist.act()
        if typist.chance.random() < 0.3:  # noqa: PLR2004 - of ten acts, three are looked at
            typist.pause()
            pauses += 1
        else:
            typist.page.wait_for_timeout(typist.chance.choice((0, 50, 200, 500)))
        if server.process.poll() is not None:
            typist.lost.append("the server ended")
            break
        if time.monotonic() - mark > min(CHECKPOINT, minutes * 6) or (edits and pauses and pauses % 20 == 0):
            mark = time.monotonic()
            typist.pause()
            heap, nodes = weigh(typist.page)
            weights.append((server.memory(), server.memory_of_all(), heap))
            own, every, _ = weights[-1]
            say(
                f"{(mark - start) / 60:.1f} min, {sum(typist.done.values())} acts, {pauses} pauses: server {own:.0f} MB, "
                f"with its processes {every:.0f} MB, page {heap:.1f} MB in {nodes:,} nodes; {len(typist.lost)} lost"
            )
    typist.pause()
    typist.load_anew()
    say(", ".join(f"{count} x {name}" for name, count in sorted(typist.done.items())))
    if typist.waits:
        say(f"a pause was answered after {statistics.median(typist.waits):.1f} s, {max(typist.waits):.1f} s at most")
    for number, what in enumerate(("the server", "the server with its processes", "the page")):
        third = max(len(weights) // 3, 1)
        first, last = (statistics.median(each[number] for each in part) for part in (weights[:third], weights[-third:]))
        say(f"{what}: {first:.1f} MB in the first third, {last:.1f} in the last: {last / first:.2f} (at most {FLAT})")
        if last / first > FLAT:
            typist.lost.append(f"the memory of {what} grew")
    context.close()
    return typist.lost


def main(words: Sequence[str]) -> int:
    """Type as long as is asked, and return the exit status."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="scripts/bench typist", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="another typist for each number (default: 1)")
    parser.add_argument("--edits", type=int, default=0, help="stop after so many edits that were answered")
    asked = parser.parse_args(words)
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, play(folder=Path(folder)) as server:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        lost = type_for(browser, server, asked.minutes, asked.seed, asked.edits)
        browser.close()
    for each in lost:
        say(f"lost: {each}")
    say(f"seed {asked.seed}: {len(lost)} things were lost")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
