"""Predictions that the reader makes before a listing shows the answer; without a reader, nothing waits.

Missed predictions are stored next to the marks of the exercises, and a later phase asks them about another program.
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
"""The positive answer to a yes-or-no question."""

NO = "no"
"""The negative answer to a yes-or-no question."""


class Forecast:
    """The reader's predictions in one phase.

    Args:
        paper: The output.
        phase: The phase, if missed predictions are to be stored.
        target: The target to compile for if a question is asked again, by default this CPU.
    """

    def __init__(self, paper: Paper, phase: Phase | None = None, target: Target | None = None) -> None:
        """Start without any questions."""
        self._paper = paper
        self._phase, self._target = phase, target
        self._asked: list[bool] = []

    @property
    def waits(self) -> bool:
        """True if a reader at a terminal can answer."""
        return sys.stdin.isatty() and self._paper.stream.isatty()

    def commit(self, question: str, choices: Sequence[str] = (), *, listing: str = "") -> str:
        """Ask a question, and return the answer. It waits for Enter, so that the reader does not see the output before.

        Args:
            question: The question.
            choices: The allowed answers, by default any whole number.
            listing: The Python code that the question is about, shown before the answer if a reader is there.

        Returns:
            A number or one of the choices, or an empty string if the reader skips the question or nobody is there.
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
            answer = self._read(f"Your answer, {expected} (press Enter to skip):")
            if not answer or (answer in choices if choices else answer.isdecimal() and answer.isascii()):
                # The number is written in its usual form, because it is compared with the right answer as text.
                return answer if choices or not answer else str(int(answer))
            expected = f"{expected}, not {answer[:20]!r}"

    def reveal(self, prediction: str, answer: int | str, because: str, name: str = "") -> None:
        """Print the answer, whether the reader's prediction was right, and the reason; record whether it was wrong.

        Args:
            prediction: The answer from `commit`.
            answer: The right answer.
            because: The reason, in a sentence.
            name: The name of the question in the phase, if it is to be asked again after a wrong answer.
        """
        text, what = (f"{answer:,}", "it") if isinstance(answer, int) else (answer, "the answer")
        if not prediction:
            self._paper.say(f"{what.capitalize()} is {text}: {because}")
            return
        right = prediction == str(answer)
        self._asked.append(right)
        self.note(name, prediction, answer)
        first = f"{text}, as you said" if right else f"You said {prediction}, and {what} is {text}"
        self._paper.verdict(f"{first}: {because}", good=right)

    def note(self, name: str, prediction: str, answer: int | str) -> None:
        """Store whether an answer was wrong, if the reader gave one.

        Args:
            name: The name of the question in the phase; nothing is stored without one.
            prediction: The answer from `commit`.
            answer: The right answer.
        """
        if self._phase and name and prediction and self.waits:
            Logbook().note_prediction(f"{self._phase.name}/{name}", missed=prediction != str(answer))

    def close(self) -> None:
        """Print the number of right answers, if any, and ask missed questions of other phases again."""
        if self._asked:
            right, total = sum(self._asked), len(self._asked)
            self._paper.say(f"You predicted {right} of {plural(total, 'answer')} correctly.")

        if self._phase and self.waits:
            self._repeat(self._phase)

    def _repeat(self, phase: Phase) -> None:
        """Ask the missed questions of other phases again, each about another program."""
        from xla_inspect.practice import missed_questions

        logbook, paper = Logbook(), self._paper
        # The order of the questions is that of the phases, and a stored name may belong to a question that no longer
        # exists.
        missed = [name for name in missed_questions.QUESTIONS if name in logbook.missed]
        names = [name for name in missed if not name.startswith(f"{phase.name}/")]
        if names:
            paper.heading("Missed questions again")
        for name in names:
            earlier = PHASES[name.partition("/")[0]]
            paper.say(
                f"You missed this question in phase {earlier.number}, {earlier.title}. Here it is for another program."
            )
            repeat = missed_questions.QUESTIONS[name](self._target or device.find_device("cpu"))
            answer = self.commit(repeat.question, repeat.choices, listing=repeat.listing)
            if not answer:
                continue
            # A repeated question is not asked a third time, even if the answer is wrong again.
            logbook.note_prediction(name, missed=False)
            paper.show(repeat.shown, repeat.language)
            self.reveal(answer, repeat.answer, repeat.because)

    def _read(self, prompt: str) -> str:
        stream = self._paper.stream
        stream.write(f"{prompt} ")
        stream.flush()
        answer = sys.stdin.readline().strip().lower()
        stream.write("\n")
        return answer
