"""What was found out about a page is not found out again, and the oldest is forgotten."""

from __future__ import annotations

from livepage.publish import answers


def test_an_answer_is_kept_until_enough_others_were_asked_for() -> None:
    asked: list[tuple[str, bool]] = []

    @answers.remember
    def count(text: str, *, twice: bool = False) -> int:
        asked.append((text, twice))
        return len(text) * (1 + twice)

    assert [count("page"), count("page"), count("page", twice=True)] == [4, 4, 8]
    assert asked == [("page", False), ("page", True)]
    for number in range(answers.MOST):
        count(str(number))
    asked.clear()
    count("page")
    count(str(answers.MOST - 1))
    assert asked == [("page", False)]
