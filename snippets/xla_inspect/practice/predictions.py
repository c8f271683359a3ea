"""Questions that the reader answers before the listing that answers them; where nobody is there, nothing waits.

What is missed is kept beside the marks of the exercises, and asked once more, of another program, after a later phase.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xla_inspect.plural import plural
from xla_inspect.practice import device
from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.phases import PHASES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.practice.phases import Phase
    from xla_inspect.targets import Target
    from xla_inspect.terminal import Paper

YES = "yes"
"""A choice of questions that ask whether something is so."""

NO = "no"
"""The other choice."""


class Forecast:
    """What a reader said of a phase before it was shown.

    Args:
        paper: What to print on.
        phase: The phase, where what is missed is to be kept.
        target: What to compile for where a question is asked once more, by default this CPU.
    """

    def __init__(self, paper: Paper, phase: Phase | None = None, target: Target | None = None) -> None:
        """Start with nothing asked."""
        self._paper = paper
        self._phase, self._target = phase, target
        self._asked: list[bool] = []

    @property
    def waits(self) -> bool:
        """Whether somebody is there to answer."""
        return sys.stdin.isatty() and self._paper.stream.isatty()

    def commit(self, question: str, choices: Sequence[str] = (), *, listing: str = "") -> str:
        """Ask a question, and return the answer; it waits for Enter, so that what comes next is not seen before.

        Args:
            question: The question.
            choices: What may be answered, by default any whole number.
            listing: Python that the question is about, shown where somebody reads it before the answer.

        Returns:
            A number, or one of the choices; an empty string where the reader skips it or nobody is there.
        """
        paper = self._paper
        if not self.waits:
            paper.say(f"Predict first: {question}")
            return ""
        if listing:
            paper.show(listing, "python")
        paper.say(f"Predict: {question}")
        expected = " or ".join(choices) if choices else "a whole number"
        while True:
            answer = self._read(f"Your answer, {expected} (Enter alone skips it):")
            if not answer or (answer in choices if choices else answer.isdecimal() and answer.isascii()):
                return answer if choices or not answer else str(int(answer))
            expected = f"{expected}, not {answer[:20]!r}"

    def reveal(self, said: str, answer: int | str, because: str, name: str = "") -> None:
        """Say what is so, whether the reader had said it, and why it is so.

        Args:
            said: What `commit` returned.
            answer: What is so.
            because: Why, in a sentence.
            name: What the phase calls the question, where it is to be asked once more if the answer is wrong.
        """
        text, what = (f"{answer:,}", "it") if isinstance(answer, int) else (answer, "the answer")
        if not said:
            self._paper.say(f"{what.capitalize()} is {text}: {because}")
            return
        right = said == str(answer)
        self._asked.append(right)
        self.note(name, said, answer)
        first = f"{text}, as you said" if right else f"You said {said}, and {what} is {text}"
        self._paper.verdict(f"{first}: {because}", good=right)

    def note(self, name: str, said: str, answer: int | str) -> None:
        """Keep whether an answer was wrong, where somebody gave one.

        Args:
            name: What the phase calls the question; nothing is kept without one.
            said: What `commit` returned.
            answer: What is so.
        """
        if self._phase and name and said and self.waits:
            Logbook().note_prediction(f"{self._phase.name}/{name}", missed=said != str(answer))

    def close(self) -> None:
        """Say how many answers were right, where any was given, and ask once more what earlier phases left open."""
        if self._asked:
            right, asked = sum(self._asked), len(self._asked)
            self._paper.say(f"Of {plural(asked, 'prediction')} {right} came true.")

        if self._phase and self.waits:
            self._repeat(self._phase)

    def _repeat(self, phase: Phase) -> None:
        """Ask once more what was missed in other phases, each of another program."""
        from xla_inspect.practice import missed_questions

        logbook, paper = Logbook(), self._paper
        missed = [name for name in missed_questions.QUESTIONS if name in logbook.missed]
        names = [name for name in missed if not name.startswith(f"{phase.name}/")]
        if names:
            paper.heading("Once more")
        for name in names:
            earlier = PHASES[name.partition("/")[0]]
            paper.say(f"You missed this in phase {earlier.number}, {earlier.title}. Here it is for another program.")
            asked = missed_questions.QUESTIONS[name](self._target or device.find_device("cpu"))
            said = self.commit(asked.question, asked.choices, listing=asked.listing)
            if not said:
                continue
            logbook.note_prediction(name, missed=False)
            paper.show(asked.shown, asked.language)
            self.reveal(said, asked.answer, asked.because)

    def _read(self, prompt: str) -> str:
        stream = self._paper.stream
        stream.write(f"{prompt} ")
        stream.flush()
        answer = sys.stdin.readline().strip().lower()
        stream.write("\n")
        return answer
