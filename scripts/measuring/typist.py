"""Somebody who types at random into a playground in a real browser, and knows what must stand there.

Text is inserted, deleted, pasted, undone, broken, typed fast, and the page is loaded anew, always with the keys that a
reader has. Beside it runs a model of the text: after each act the editor must hold what the model holds.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

    from playwright.sync_api import Page, Request

LONGEST = 60
"""Seconds within which a pause is answered, where other work shares the machine."""
LARGE = 5000
"""Characters from which on the typist begins anew."""
READ = "() => globalThis.codeMirror.EditorView.findFromDOM(document.querySelector('.cm-content')).state.doc.toString()"
PLACE = """place => globalThis.codeMirror.EditorView.findFromDOM(document.querySelector('.cm-content'))
  .dispatch({ selection: { anchor: place }, scrollIntoView: true })"""
# Whether what stands there is no Python, so that it is not sent to be compiled.
REFUSED = "() => document.querySelector('#problems li[data-kind=syntax]') !== null"
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
    """import jax.numpy as jnp


def f(x):
    return jnp.sin(x) * 2 + 1


EXAMPLE = (jnp.ones((8, 8)),)
""",
    """import jax
import jax.numpy as jnp


def f(x, w):
    return jax.nn.relu(x @ w)


EXAMPLE = (jnp.ones((16, 32)), jnp.ones((32, 8)))
""",
    """import jax.numpy as jnp


def f(x):
    e = jnp.exp(x - x.max())
    return e / e.sum()


EXAMPLE = (jnp.ones((64,)),)
""",
)


@dataclass
class Sent:
    """What the page sent.

    Attributes:
        way: What for: `describe` or `compile`.
        code: The text.
        over: Whether it was answered to the end.
    """

    way: str
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
        self.page.on("crash", lambda _: self.lost.append("the page crashed"))

    def _note(self, request: Request) -> None:
        way = request.url.rpartition("/")[2]
        if request.method == "POST" and way in {"describe", "compile"}:
            self.sent[request] = Sent(way, (request.post_data_json or {}).get("code", ""))

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
            at = next((at for at, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), 0)
            near = slice(max(at - 30, 0), at + 30)
            self.lost.append(f"after {what} the editor holds {found[near]!r} at {at}, and not {expected[near]!r}")
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
        """Set the cursor somewhere, as a click does, and return where it is in the text."""
        place = self.chance.randint(0, len(self.text))
        self.page.locator(".cm-content").focus()
        self.page.evaluate(PLACE, place)
        return place

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
        """Take some edits back, and make them again: no others, since what is typed first ends what could be."""
        self.insert()
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
            over = {each.way for each in self.sent.values() if each.over and each.code == self.text}
            if "compile" in over or ("describe" in over and self.page.evaluate(REFUSED)):
                break
            self.page.wait_for_timeout(50)
        else:
            self.lost.append(f"a pause was not answered in {LONGEST} s, at {self.text[:200]!r}")
        self.waits.append(time.monotonic() - start)
        for request in [each for each, sent in self.sent.items() if sent.over and sent.code != self.text]:
            del self.sent[request]
