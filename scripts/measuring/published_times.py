"""A comparison of the estimates of `xla-inspect time` with times that others measured and published.

    python -m measuring.published_times                      # every kernel and collective, in a minute
    python -m measuring.published_times --kind step          # the training steps, many of which compile for minutes
    python -m measuring.published_times h100-product-8192    # these rows of docs/data/published-times.toml
    python -m measuring.published_times --pairs              # the order of variants of one program
    python -m measuring.published_times --record NAME        # the same for a step, into docs/data/step-estimates.json

Rules of the estimator were chosen by the tuned rows alone, so the held-out rows are the test.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import stamps
from common import ROOT
from measuring.run_stamp import today
from published import times
from xla_inspect import InspectError, capture
from xla_inspect.analysis.estimates import Estimate, find_rates, list_options, time_step
from xla_inspect.targets import find_version
from xla_inspect.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.analysis.estimates import StepTime

KINDS = ("kernel", "collective")
"""The kinds of rows that are compared by default."""

RECORD = ROOT / "docs" / "data" / "step-estimates.json"
"""The record of the estimates of steps that compile for too long for a page."""


@dataclass(frozen=True)
class Comparison:
    """A published time and its estimate.

    Attributes:
        name: The name of the row.
        is_held_out: Whether no rule of the estimator was chosen by it.
        measured: The published seconds.
        estimate: The estimated seconds.
    """

    name: str
    is_held_out: bool
    measured: float
    estimate: Estimate

    @property
    def is_inside(self) -> bool:
        """True if the published time is in the range of the estimate."""
        return self.estimate.low <= self.measured <= self.estimate.high

    @property
    def error(self) -> float:
        """The relative error of the likely time, which is positive if the estimate is too long."""
        return self.estimate.likely / self.measured - 1

    def __str__(self) -> str:
        """Return the row as a line."""
        estimate = " ".join(
            f"{format_seconds(one):>9}" for one in (self.estimate.low, self.estimate.likely, self.estimate.high)
        )
        place = "inside" if self.is_inside else "OUTSIDE"
        return f"{self.name:32}{format_seconds(self.measured):>9}   {estimate}   {self.error:+5.0%}   {place}"


def compare_row(name: str, row: times.Entry) -> Comparison:
    """Return the comparison of a row, whose program is compiled.

    Raises:
        InspectError: The program does not compile, or its target has no rates.
    """
    return Comparison(name, row["held_out"], times.find_seconds(row), estimate_time(row))


def estimate_time(entry: times.Entry) -> Estimate:
    """Return the estimated time of an entry's program, which is compiled; errors are those of `time_entry`."""
    step, rates = time_entry(entry), find_rates(entry["target"])
    # A published time of a kernel does not include the gaps between kernels.
    count = sum(1 for launch in step.launches if launch.overhead.likely) if entry.get("kind") == "kernel" else 0
    gaps = rates.gap * count if rates else Estimate()
    return Estimate(*(getattr(step.seconds, end) - getattr(gaps, end) for end in ("low", "likely", "high")))


def time_entry(entry: times.Entry) -> StepTime:
    """Return the estimates of all launches of an entry's program, which is compiled.

    Raises:
        InspectError: The program does not compile, or its target has no rates.
    """
    program, target = times.find_program(entry), entry["target"]
    mesh = {
        axis: int(size) for axis, _, size in (part.partition("=") for part in entry.get("mesh", "").split(",")) if axis
    }
    options: dict[str, Any] = {"options": list_options(target), "passes": False, **({"mesh": mesh} if mesh else {})}
    compiled = capture(program.function, *program.example, target=target, **options, **program.arguments)
    rates = find_rates(target)
    if rates is None:
        message = f"{target} has no published rates"
        raise InspectError(message)
    # A kernel by itself does not load the device for long.
    is_kernel = entry.get("kind") == "kernel"
    return time_step(compiled, replace(rates, load=Estimate(1.0, 1.0, 1.0)) if is_kernel else rates)


@dataclass(frozen=True)
class Pair:
    """Two published variants of one program, of which one was faster.

    Attributes:
        name: The name of the pair.
        measured: The published time of the slower variant, over that of the faster one.
        estimated: The same ratio of the likely times.
    """

    name: str
    measured: float
    estimated: float

    @property
    def is_right(self) -> bool:
        """True if the estimates have the published order."""
        return self.estimated > 1

    def __str__(self) -> str:
        """Return the pair as a line."""
        return f"{self.name:32}{self.measured:9.2f}   {self.estimated:9.2f}   {'right' if self.is_right else 'WRONG'}"


def compare_pairs(names: Sequence[str]) -> Iterator[Pair]:
    """Yield the comparisons of the pairs with these names, or of all pairs; errors go to stderr."""
    table = times.read_times()
    entries = {**table["rows"], **table["variants"]}
    for name, pair in table["pairs"].items():
        if names and name not in names:
            continue
        try:
            ratios = []
            for find in (times.find_seconds, lambda entry: estimate_time(entry).likely):
                slower, faster = (
                    times.scale_time(entry, find(entry), pair["per"])
                    for entry in (entries[pair["slower"]], entries[pair["faster"]])
                )
                ratios.append(slower / faster)
            yield Pair(name, *ratios)
        except InspectError as error:
            print(f"{name}: {error}", file=sys.stderr)


def compare_rows(names: Sequence[str], kinds: Sequence[str]) -> Iterator[Comparison]:
    """Yield the comparisons of the rows with these names, or of all rows of these kinds; errors go to stderr."""
    for name, row in times.read_times()["rows"].items():
        if name in names or (not names and row["kind"] in kinds):
            try:
                yield compare_row(name, row)
            except InspectError as error:
                print(f"{name}: {error}", file=sys.stderr)


def write_record(rows: Sequence[Comparison]) -> None:
    """Write the low, likely and high seconds of each row to `RECORD`, which keeps other rows of the same versions."""
    versions = {name: find_version(name) or "" for name in ("jax", "libtpu", "jax-cuda13-plugin")}
    before = stamps.read_sealed(RECORD) if RECORD.is_file() else {}
    seconds = dict(before["seconds"]) if before.get("versions") == versions else {}
    seconds |= {row.name: [row.estimate.low, row.estimate.likely, row.estimate.high] for row in rows}
    order = [name for name in times.read_times()["rows"] if name in seconds]
    content = {"date": today(), "seconds": {name: seconds[name] for name in order}}
    stamps.write_sealed(RECORD, "uv run python -m measuring.published_times --record", versions, content)


def summarize(title: str, rows: Sequence[Comparison]) -> str:
    """Return the number of rows, the median error and the number inside the range, as a sentence."""
    if not rows:
        return f"{title}: no rows"
    error = statistics.median(abs(row.error) for row in rows)
    width = statistics.median(row.estimate.high / row.estimate.low for row in rows)
    inside = sum(row.is_inside for row in rows)
    return f"{title}: {len(rows)} rows, median error {error:.0%}; {inside} inside a range of {width:.2f} in the median"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison of each row and two summaries, or that of each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a row of docs/data/published-times.toml")
    parser.add_argument("--kind", action="append", choices=(*KINDS, "step"), help="a kind of rows")
    parser.add_argument("--pairs", action="store_true", help="compare the order of pairs instead of the times of rows")
    parser.add_argument("--record", action="store_true", help="write the estimates of the rows to docs/data")
    options = parser.parse_args(arguments)
    if options.pairs:
        print(f"{'pair':32}published   estimated (slower time / faster time)")
        for pair in compare_pairs(options.names):
            print(pair, flush=True)
        return 0
    print(f"{'row':32}{'published':>9}   {'low':>9} {'likely':>9} {'high':>9}   error")
    rows = []
    for row in compare_rows(options.names, options.kind or KINDS):
        print(row, flush=True)
        rows.append(row)
    if options.record:
        write_record(rows)
    print(summarize("tuned", [row for row in rows if not row.is_held_out]))
    print(summarize("held out", [row for row in rows if row.is_held_out]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
