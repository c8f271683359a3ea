"""The release that changed an answer is found with few measurements, despite failures."""

from __future__ import annotations

import pytest

from xla_inspect.releases import QUESTIONS, ReleaseMeasure, ReleaseSearch

RELEASES = [f"0.{number}.0" for number in range(30)]


class Known:
    """The results of thirty releases, and a list of the measured ones."""

    def __init__(self, values: dict[int, int | None]) -> None:
        """Store the bytes of temporaries from each release on; None marks a single failing release."""
        self.values = values
        self.asked: list[str] = []

    def measure(self, version: str) -> ReleaseMeasure:
        self.asked.append(version)
        number = int(version.split(".")[1])
        if number in self.values and self.values[number] is None:
            return ReleaseMeasure(version, failed="it does not load")
        value = next(
            self.values[at] for at in sorted(self.values, reverse=True) if at <= number and self.values[at] is not None
        )
        return ReleaseMeasure(version, values={"memory": value})


def find(values: dict[int, int | None]) -> tuple[Known, ReleaseSearch]:
    measured = Known(values)
    return measured, ReleaseSearch(RELEASES, measured.measure)


@pytest.mark.parametrize("at", [1, 7, 15, 28, 29])
def test_the_first_release_that_differs_is_found_with_seven_measured(at: int) -> None:
    measured, search = find({0: 0, at: 1 << 20})
    boundary = search.find_boundary(QUESTIONS["memory"])
    assert boundary is not None
    assert (boundary.before.version, boundary.after.version, boundary.between) == (f"0.{at - 1}.0", f"0.{at}.0", ())
    assert len(measured.asked) == len(set(measured.asked)) <= 7


def test_a_small_change_before_the_large_one_does_not_hide_it() -> None:
    _, search = find({0: 1 << 20, 5: (1 << 20) + (1 << 17), 21: 1 << 30})
    boundary = search.find_boundary(QUESTIONS["memory"])
    assert boundary is not None
    assert boundary.after.version == "0.21.0"


def test_a_hash_that_neither_end_has_counts_as_changed() -> None:
    values = {0: "a", 5: "b", 21: "c"}

    def measure(version: str) -> ReleaseMeasure:
        number = int(version.split(".")[1])
        return ReleaseMeasure(version, values={"numbers": values[max(at for at in values if at <= number)]})

    search = ReleaseSearch(RELEASES, measure)
    boundary = search.find_boundary(QUESTIONS["numbers"])
    assert boundary is not None
    assert (boundary.before.version, boundary.after.version) == ("0.4.0", "0.5.0")
    first, *others = search.list_boundaries(QUESTIONS["numbers"])
    assert first.after.version == "0.5.0"
    assert len(others) == 1


def test_a_failing_release_is_reported_inside_the_boundary_and_skipped_elsewhere() -> None:
    _, search = find({0: 0, 3: None, 14: None, 15: None, 16: 1 << 20})
    boundary = search.find_boundary(QUESTIONS["memory"])
    assert boundary is not None
    assert (boundary.before.version, boundary.after.version) == ("0.13.0", "0.16.0")
    assert [between.version for between in boundary.between] == ["0.14.0", "0.15.0"]


def test_ends_that_fail_are_passed_over() -> None:
    _, search = find({0: None, 1: 0, 12: 1 << 20, 29: None})
    ends = search.find_ends()
    assert ends is not None
    assert [end.version for end in ends] == ["0.1.0", "0.28.0"]


def test_equal_answers_at_both_ends_stop_the_search() -> None:
    measured, search = find({0: 0, 10: 1 << 20, 11: 0})
    assert search.find_boundary(QUESTIONS["memory"]) is None
    assert measured.asked == ["0.0.0", "0.29.0"]


def test_a_reverted_change_is_found_if_each_release_is_measured() -> None:
    _, search = find({0: 0, 10: 1 << 20, 11: 0})
    search.measure_all()
    assert [boundary.after.version for boundary in search.list_boundaries(QUESTIONS["memory"])] == ["0.10.0", "0.11.0"]


def test_loop_counters_are_not_a_change_of_memory() -> None:
    _, search = find({0: 196, 9: 200})
    assert search.find_boundary(QUESTIONS["memory"]) is None


def test_a_question_that_no_release_answers_has_no_answer_that_changes() -> None:
    _, search = find({0: 0, 10: 1 << 20})
    assert search.find_boundary(QUESTIONS["code"]) is None
