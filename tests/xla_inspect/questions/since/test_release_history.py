"""The sentence about releases agrees with its table, even for very small differences."""

from __future__ import annotations

import pytest

from xla_inspect.questions.since.release_history import ReleaseChange, ReleaseHistory, ReleaseRow
from xla_inspect.questions.since.rendering import LEAST
from xla_inspect.releases import QUESTIONS


def tell(first: ReleaseRow, last: ReleaseRow, *questions: str) -> str:
    history = ReleaseHistory(
        program="step",
        asked="step.py:step",
        target="cpu",
        first=first.release,
        last=last.release,
        questions=questions,
        rows=(first, last),
        changes=(),
        not_measured=(),
        installed_bytes=0,
    )
    return " ".join(str(history).split())


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        (
            {"code": "0261"},
            {"code": "1f69"},
            "the code differs by less than 50% of its operations, which does not count",
        ),
        ({"code_loops": 3}, {"code_loops": 4}, "the code differs by less than 50% of its operations"),
        (
            {"temporary_bytes": 800 * 1024},
            {"temporary_bytes": 801 * 1024},
            "the memory differs by less than 1% of its bytes",
        ),
    ],
)
def test_a_small_difference_is_reported_if_a_column_shows_it(
    first: dict[str, object], last: dict[str, object], message: str
) -> None:
    text = tell(ReleaseRow("0.1", **first), ReleaseRow("0.2", **last), "kernels", "memory", "code")  # type: ignore[arg-type]  # several types
    assert message in text
    assert "memory, code" not in text.partition(";")[0]
    assert text.startswith("step on CPU, JAX 0.1 to 0.2: no difference in kernels")


def test_equal_columns_are_not_a_difference() -> None:
    text = tell(ReleaseRow("0.1", code="0261"), ReleaseRow("0.2", code="0261"), "kernels", "code")
    assert "no difference in kernels or code." in text


def test_the_reported_shares_are_the_measured_ones() -> None:
    assert {name: int(text.partition("%")[0]) / 100 for name, text in LEAST.items()} == {
        name: QUESTIONS[name].least for name in LEAST
    }


@pytest.mark.parametrize("repeated", [(), ("numbers",)])
def test_a_change_is_the_first_one_only_if_no_other_release_has_another_answer(repeated: tuple[str, ...]) -> None:
    rows = tuple(
        ReleaseRow(f"0.{number}", numbers=name) for number, name in enumerate("abb" if not repeated else "abc")
    )
    history = ReleaseHistory(
        program="step",
        asked="step.py:step",
        target="cpu",
        first="0.0",
        last="0.2",
        questions=("kernels", "numbers"),
        rows=rows,
        changes=(ReleaseChange("numbers", "0.0", "0.1", (), "hash a", "hash b"),),
        not_measured=(),
        repeated=repeated,
    )
    text = " ".join(str(history).split())
    which = "a release with a change is 0.1" if repeated else "the first release with a change is 0.1"
    assert which in text
    assert "The answer to `numbers` is hash a in JAX 0.0 and hash b in JAX 0.1." in text
    assert ("since --every --ask numbers --from 0.0 --to 0.2" in text) is bool(repeated)
