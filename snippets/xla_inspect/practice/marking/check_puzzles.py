"""What the puzzles are judged by: the numbers of the start for several inputs, and a score that the compiler says."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect import targets
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.puzzles import PUZZLES, Puzzle, compile_puzzle, make_arguments
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, good, judge
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from xla_inspect.captured import Capture
    from xla_inspect.practice.marking.submission import Submission

SCALES = (1.0, 1.0, 10.0)
"""How large the numbers of each input are."""

NEAR = 50
"""What part of the best known score may be added to it: a loop that is written in another way counts a little more."""


def check(submission: Submission) -> Iterator[Remark]:
    """The numbers of the start, and a score no worse than the best that is known."""
    puzzle = PUZZLES[submission.exercise.name]
    given, where = submission.given, submission.locate("better")
    submission.function("better")
    vars(submission.module).update(
        {name: vars(given)[name] for name in ("EXAMPLE", "MESH", "START") if name in vars(given)}
    )
    yield _expect_same(submission, puzzle, where)
    target = puzzle.choose_target()
    if target != puzzle.target:
        reason = targets.find_target(puzzle.target).obstacle
        named = title(puzzle.target.partition(":")[0])
        yield good(f"scored on the CPU, since the {named} compiler is missing here: {reason}")
    start, best = (compile_puzzle(given, name, target) for name in ("start", "better"))
    mine = compile_puzzle(submission.module, "better", target)
    limits = [*_judge_limits(puzzle, start, mine, where)]
    yield from limits
    if all(remark.good for remark in limits):
        yield _judge_score(puzzle, start, best, mine, where)


def _expect_same(submission: Submission, puzzle: Puzzle, where: str) -> Remark:
    """Return that the numbers are those of the start.

    Raises:
        WrongError: They differ, or are computed where no compiler sees it.
    """
    given, better = submission.given, submission.function("better")
    if "SPECS" in vars(given):
        _expect_specs(submission)
    with _one_device(getattr(given, "MESH", {})):
        expected_shape = jax.eval_shape(given.start, *given.EXAMPLE)
        check_helpers.expect_shapes(better, given.EXAMPLE, expected_shape, where)
        for seed, scale in enumerate(SCALES):
            arguments = make_arguments(given.EXAMPLE, seed, scale)
            expected = jax.jit(given.start)(*arguments)
            check_helpers.expect_numbers(_run(better, arguments), expected, where, puzzle.tolerance)
    return good(f"the numbers are those of `start`, for {len(SCALES)} inputs")


def _one_device(mesh: Mapping[str, int]) -> AbstractContextManager[object]:
    """Return a mesh of one device that has the axes of another, so that a program may name them."""
    if not mesh:
        return nullcontext()
    automatic = (jax.sharding.AxisType.Auto,) * len(mesh)
    return jax.sharding.set_mesh(jax.make_mesh((1,) * len(mesh), tuple(mesh), automatic))


def _run(better: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - whatever it returns
    return (better if hasattr(better, "lower") else jax.jit(better))(*arguments)


def _expect_specs(submission: Submission) -> None:
    specs: Any = getattr(submission.module, "SPECS", None)
    shards = isinstance(specs, tuple | list) and all(isinstance(each, jax.sharding.PartitionSpec) for each in specs)
    if not shards or len(specs) != len(submission.given.EXAMPLE):
        asked = len(submission.given.EXAMPLE)
        text = f"{submission.locate('SPECS')}: `SPECS` is {specs!r}, and a tuple of {asked} PartitionSpecs is asked for"
        raise WrongError(bad(text))
    vars(submission.module)["SPECS"] = tuple(specs)


def _judge_limits(puzzle: Puzzle, start: Capture, mine: Capture, where: str) -> Iterator[Remark]:
    for limit in puzzle.limits:
        count, most = limit.take(mine), limit.most(start)
        yield judge(
            count <= most,
            f"{count:,} {limit.words}, of {most:,} that are allowed",
            f"{where}: it takes {count:,} {limit.words}, and {most:,} are allowed",
            check_helpers.kernel_lines(mine),
            "hlo",
        )


def _judge_score(puzzle: Puzzle, start: Capture, best: Capture, mine: Capture, where: str) -> Remark:
    """Return the score beside that of the start, the best known, and the bound."""
    scores = [puzzle.measure.take(found) for found in (mine, start, best)]
    bound = ""
    if puzzle.bound:
        bound = f"; no program can go below {puzzle.bound.score(start):,}, since {puzzle.bound.reason}"
    on = title(mine.target.partition(":")[0])
    told = (
        f"score: {puzzle.measure.tell(scores[0])}, {on}. `start` has {scores[1]:,}; the best known is "
        f"{scores[2]:,}{bound}"
    )
    if scores[0] < scores[2]:
        return good(f"{told}. Yours is better than the best that was known")
    return judge(
        scores[0] <= scores[2] + scores[2] // NEAR,
        told,
        f"{where}: {told}. This is what yours runs:",
        check_helpers.kernel_lines(mine),
        "hlo",
    )
