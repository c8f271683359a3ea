"""Checks of the puzzles: the same numbers as the start for several inputs, and a score computed by the compiler."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import jax

from xla_inspect import targets
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.puzzles import PUZZLES, Puzzle, compile_puzzle, list_inputs
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, good, judge
from xla_inspect.targets import title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from xla_inspect.captured import Capture
    from xla_inspect.practice.marking.submission import Submission

NEAR = 50
"""The fraction, 1 / 50, by which a score may exceed the best known one, since equivalent loops differ slightly."""


def check(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `better`: the numbers of the start, the puzzle's limits, and a score close to the best known.

    Raises:
        WrongError: The numbers or the shardings are wrong.
    """
    puzzle = PUZZLES[submission.exercise.name]
    original, where = submission.given, submission.locate("better")
    submission.function("better")
    # The reader may have changed the example or the mesh, which would change the task.
    vars(submission.module).update(
        {name: vars(original)[name] for name in ("EXAMPLE", "MESH", "START") if name in vars(original)}
    )
    yield _expect_same(submission, puzzle, where)
    target = puzzle.choose_target()
    if target != puzzle.target:
        reason = targets.find_target(puzzle.target).obstacle
        target_title = title(puzzle.target.partition(":")[0])
        yield good(f"scored on the CPU, because the {target_title} compiler is missing on this machine: {reason}")
    start, best = (compile_puzzle(original, name, target) for name in ("start", "better"))
    mine = compile_puzzle(submission.module, "better", target)
    limits = [*_judge_limits(puzzle, start, mine, where)]
    yield from limits
    # A score that is reached by breaking a limit is no score, so it is not shown.
    if all(remark.good for remark in limits):
        yield _judge_score(puzzle, start, best, mine, where)


def _expect_same(submission: Submission, puzzle: Puzzle, where: str) -> Remark:
    """Return a remark that the numbers equal those of the start.

    Raises:
        WrongError: They differ, or Python computes them in a callback.
    """
    original, better = submission.given, submission.function("better")
    if "SPECS" in vars(original):
        # The shardings are checked before the numbers, because a malformed one would fail inside JAX without a useful
        # message.
        _expect_specs(submission)
    with _one_device(getattr(original, "MESH", {})):
        expected_shape = jax.eval_shape(original.start, *original.EXAMPLE)
        check_helpers.expect_shapes(better, original.EXAMPLE, expected_shape, where)
        start, mine = jax.jit(original.start), better if hasattr(better, "lower") else jax.jit(better)
        rows = jax.tree.leaves(original.EXAMPLE)[0].shape[0]
        inputs = [*list_inputs(original.EXAMPLE, rows, puzzle.largest, puzzle.centers)]
        for words, arguments in inputs:
            expected = start(*arguments)
            check_helpers.expect_numbers(mine(*arguments), expected, f"{where}, for {words}", puzzle.tolerance)
    return good(f"the numbers equal those of `start` for {len(inputs)} inputs")


def _one_device(mesh: Mapping[str, int]) -> AbstractContextManager[object]:
    """Return a context that sets a mesh of one device with the axis names of `mesh`, and no mesh for an empty one."""
    if not mesh:
        return nullcontext()
    automatic = (jax.sharding.AxisType.Auto,) * len(mesh)
    return jax.sharding.set_mesh(jax.make_mesh((1,) * len(mesh), tuple(mesh), automatic))


def _expect_specs(submission: Submission) -> None:
    specs: Any = getattr(submission.module, "SPECS", None)
    shards = isinstance(specs, tuple | list) and all(isinstance(spec, jax.sharding.PartitionSpec) for spec in specs)
    if not shards or len(specs) != len(submission.given.EXAMPLE):
        length = len(submission.given.EXAMPLE)
        text = f"{submission.locate('SPECS')}: `SPECS` is {specs!r}, but it must be a tuple of {length} PartitionSpecs"
        raise WrongError(bad(text))
    vars(submission.module)["SPECS"] = tuple(specs)


def _judge_limits(puzzle: Puzzle, start: Capture, mine: Capture, where: str) -> Iterator[Remark]:
    for limit in puzzle.limits:
        count, most = limit.take(mine), limit.most(start)
        yield judge(
            count <= most,
            f"{count:,} of {most:,} allowed {limit.words}",
            f"{where}: it uses {count:,} {limit.words}, but only {most:,} are allowed",
            check_helpers.kernel_lines(mine),
            "hlo",
        )


def _judge_score(puzzle: Puzzle, start: Capture, best: Capture, mine: Capture, where: str) -> Remark:
    """Return a remark with the score, the start's score, the best known score and the bound."""
    scores = [puzzle.measure.take(capture) for capture in (mine, start, best)]
    bound = ""
    if puzzle.bound:
        bound = f"; no program can have less than {puzzle.bound.score(start):,}, because {puzzle.bound.reason}"
    on = title(mine.target.partition(":")[0])
    text = (
        f"score: {puzzle.measure.tell(scores[0])}, {on}. `start` has {scores[1]:,}; the best known is "
        f"{scores[2]:,}{bound}"
    )
    # The best known score comes from the stored solution, which a reader can beat.
    if scores[0] < scores[2]:
        return good(f"{text}. Your score is better than the best known score")
    return judge(
        scores[0] <= scores[2] + scores[2] // NEAR,
        text,
        f"{where}: {text}. Your program launches these kernels:",
        check_helpers.kernel_lines(mine),
        "hlo",
    )
