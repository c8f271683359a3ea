"""Tables and checks of the page about estimates of time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import stamps
from chapters import bar_chart, ratio_chart
from measuring.published_times import Comparison, compare_row, time_entry
from published import times
from training import wide_mlp
from xla_inspect import capture
from xla_inspect.analysis import estimates
from xla_inspect.answers import show_time
from xla_inspect.report import markdown, title
from xla_inspect.targets import find_hardware
from xla_inspect.units import format_seconds, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xla_inspect.analysis.estimates import StepTime, TimedLaunch
    from xla_inspect.captured import Capture
    from xla_inspect.questions.time import TimeEstimate

TARGETS = ("h100:8", "b200:8", "tpu-v5e:2x4")
RECORD = Path("docs/data/step-estimates.json")
ROWS = times.read_times()["rows"]

ROOFLINES = {
    "matmul of 2048 x 2048 matrices, B200": (
        "b200-product-2048",
        "The tiles do not fill all multiprocessors, and no tile reaches the peak rate.",
    ),
    "matmul of 1024 x 1024 matrices, TPU7x": (
        "tpu7x-product-1024",
        "According to the compiler, it takes more cycles than at the peak rate.",
    ),
    "all-gather of 32 MiB, TPU v5e": (
        "v5e-all-gather-34mb",
        "The links between the chips determine the time, and a roofline has no links.",
    ),
}
"""A row of the published times for each kernel or exchange in the table of rooflines, and the reason of its time."""

METHODS = {
    "peak rates": "peak rates",
    "memory bandwidth": "traffic at the usual bandwidth",
    "tiles": "tiles of the multiprocessors",
    "sol": "the compiler's table of matmuls (`sol`)",
    "estimated_cycles": "the compiler's `estimated_cycles`",
}
"""The description of each method of the tables, by the name that the estimate gives it."""


@dataclass(frozen=True)
class RooflineComparison:
    """The seconds of a program: its roofline, its estimate, the part of exchanges, and the published time if any."""

    bound: float
    likely: float
    exchange: float
    published: float | None
    reason: str


def compile_step(target: str) -> Capture:
    """Return the page's step for a target, with the compiler's own estimates."""
    step = wide_mlp.PROGRAMS["step"]
    options = estimates.list_options(target)
    return capture(
        step.function, *step.example, target=target, mesh={"data": 8}, options=options, passes=False, **step.arguments
    )


def compare_peaks(first: str, second: str) -> float:
    """Return the ratio of the peak rates of two chips for matmuls in bf16."""
    one, other = (find_hardware(target).find_product("bf16") for target in (first, second))  # type: ignore[union-attr]
    return one.rate / other.rate  # type: ignore[union-attr]


def chart_kinds(answers: Mapping[str, TimeEstimate]) -> str:
    """Return a bar chart of the microseconds of each kind of work by target, as HTML."""
    rows: dict[str, dict[str, int | None]] = {}
    for target, answer in answers.items():
        for kind in answer.kinds:
            rows.setdefault(kind.text, dict.fromkeys(answers, 0))[target] = round(kind.seconds * 1e6)
    return bar_chart.chart_bars(rows, "Estimated time of one step by kind of work", "µs")


def show_steps(answers: Mapping[str, TimeEstimate]) -> str:
    """Return an HTML table of the estimated time, the utilization and the share of exchanges by target."""
    rows = [
        (
            title(target),
            show_time(answer.time),
            format_share(answer.utilization or 0.0),
            format_share(find_share(answer, "exposed collectives")),
        )
        for target, answer in answers.items()
    ]
    return markdown.cards(["target", "step, estimated", "model flops utilization", "exposed collectives"], rows)


def find_share(answer: TimeEstimate, kind: str) -> float:
    """Return the share of the step that a kind of work takes."""
    return sum(share.seconds for share in answer.kinds if share.text == kind) / (answer.seconds or 1.0)


def list_exchanges(step: StepTime) -> dict[str, TimedLaunch]:
    """Return the exchanges of the page's step by the value that they sum up."""
    width, hidden = wide_mlp.WIDTH, wide_mlp.HIDDEN
    names = {(width, hidden): "gradient of `up`", (hidden, width): "gradient of `down`", (): "loss"}
    exchanges = (one for one in step.launches if one.kind == "exposed collectives")
    return {names[one.launched.launch.instruction.shape.dimensions]: one for one in exchanges}


def show_exchanges(steps: Mapping[str, StepTime]) -> str:
    """Return a Markdown table of the exposed and the hidden time of each exchange by target."""
    rows = [
        (
            title(target),
            name,
            format_seconds(one.seconds.likely),
            format_seconds(round(one.hidden, 9)),
        )
        for target, step in steps.items()
        for name, one in list_exchanges(step).items()
    ]
    return markdown.table(["target", "all-reduce of", "exposed", "hidden"], rows, numbers=(2, 3))


def find_kernels(step: StepTime) -> tuple[TimedLaunch, TimedLaunch]:
    """Return the first matmul of a step, and the longest kernel without a matmul, which updates a weight."""
    product = next(one for one in step.launches if one.kind == "matmuls")
    others = [one for one in step.launches if one.kind == "memory-bound"]
    return product, max(others, key=lambda one: one.seconds.likely)


def show_methods(steps: Mapping[str, StepTime]) -> str:
    """Return an HTML table of the time of a matmul and of an update by each method, and of the estimate."""
    kernels = {
        f"{what}, {title(target.partition(':')[0])}": one
        for number, what in enumerate(("matmul", "update"))
        for target, step in steps.items()
        for one in [find_kernels(step)[number]]
    }
    rows = [
        (text, *(format_seconds(one.methods[name]) if name in one.methods else "none" for one in kernels.values()))
        for name, text in METHODS.items()
    ]
    rows.append(("**estimate**", *(show_time(one.total) for one in kernels.values())))
    return markdown.cards(["method", *kernels], rows, formatted=True)


def check_methods(gpu: StepTime, tpu: StepTime) -> None:
    """Assert the rules by which the methods give the estimates of the kernels in the page's table."""
    rates = estimates.find_rates(TARGETS[0])
    assert rates
    start = rates.floor.likely + rates.gap.likely
    product, update = find_kernels(gpu)
    mean = math.sqrt(product.methods["tiles"] * product.methods["sol"])
    assert math.isclose(product.total.likely, mean * rates.load.likely + start)
    assert math.isclose(update.total.likely, update.methods["memory bandwidth"] + start)
    product, update = find_kernels(tpu)
    assert product.launched.work.products.total() > estimates.HUGE
    cycles, peak = product.methods["estimated_cycles"], product.methods["peak rates"]
    assert math.isclose(product.total.likely, math.sqrt(cycles * peak / estimates.HUGE_SHARE))
    assert update.methods["estimated_cycles"] / estimates.USUAL_CYCLES < update.methods["memory bandwidth"]
    assert math.isclose(update.total.likely, update.methods["memory bandwidth"])
    for step in (gpu, tpu):
        total = sum((one.total for one in step.launches), estimates.Estimate())
        assert total == step.seconds
        assert all(one.total.low <= one.total.likely <= one.total.high for one in step.launches)


def list_short() -> list[str]:
    """Return the published kernels of one device and the published collectives, which compile in seconds."""
    return [
        name
        for name, row in ROWS.items()
        if row["kind"] == "collective" or (row["kind"] == "kernel" and "mesh" not in row)
    ]


def compare(names: Iterable[str]) -> list[Comparison]:
    """Return the comparison of each row with these names, whose programs are compiled."""
    return [compare_row(name, ROWS[name]) for name in names]


def read_recorded() -> list[Comparison]:
    """Return the comparison of each row in the record of estimates."""
    return [
        Comparison(name, ROWS[name]["held_out"], times.find_seconds(ROWS[name]), estimates.Estimate(*seconds))
        for name, seconds in stamps.read_sealed(RECORD)["seconds"].items()
    ]


def chart_comparisons(comparisons: Sequence[Comparison], caption: str) -> str:
    """Return a chart of the estimates and their ranges as multiples of the published times, grouped by chip."""
    rows: dict[str, dict[str, tuple[float, float, float]]] = {}
    for one in comparisons:
        chip = ROWS[one.name]["target"].partition(":")[0]
        low, likely, high = (
            seconds / one.measured for seconds in (one.estimate.low, one.estimate.likely, one.estimate.high)
        )
        rows.setdefault(title(chip), {})[one.name.partition("-")[2]] = low, likely, high
    return ratio_chart.chart_ratios(rows, caption, spread="range")


def show_comparisons(comparisons: Sequence[Comparison], folded: str = "") -> str:
    """Return an HTML table of the comparisons, each with a link to its source."""
    sources = times.read_times()["sources"]
    rows = [
        (
            f"[{one.name}]({sources[ROWS[one.name]['source']]['url']})",
            format_seconds(one.measured),
            show_time(one.estimate),
            f"{one.error:+.0%}",
            "yes" if one.is_inside else "**no**",
            "held out" if one.is_held_out else "tuned",
        )
        for one in comparisons
    ]
    header = ["row and source", "published", "estimate", "error", "in the range", "role"]
    return markdown.cards(header, rows, formatted=True, folded=folded)


def list_differences(comparisons: Sequence[Comparison]) -> str:
    """Return a Markdown list of the known differences between the published programs and those compiled here."""
    return "\n".join(f"* `{one.name}`: {ROWS[one.name]['differs']}" for one in comparisons)


def check_outlier(one: Comparison) -> None:
    """Assert that the estimate of the small all-gather is that of its three hops and of a copy."""
    step = time_entry(ROWS[one.name])
    exchange, copy = step.launches
    assert exchange.seconds.likely == 3 * estimates.HOP.likely
    assert one.estimate.likely == exchange.total.likely + copy.total.likely


def list_bounds(steps: Mapping[str, StepTime]) -> dict[str, RooflineComparison]:
    """Return the rooflines and estimates of some published programs and of the page's step."""
    bounds = {
        name: add_bounds(time_entry(ROWS[row]), times.find_seconds(ROWS[row]), reason)
        for name, (row, reason) in ROOFLINES.items()
    }
    reason = "The chips wait for exchanges."
    return bounds | {
        f"step of this page, {title(target)}": add_bounds(step, None, reason) for target, step in steps.items()
    }


def add_bounds(step: StepTime, published: float | None, reason: str) -> RooflineComparison:
    """Return the sums of the bounds and of the estimates of a program's launches."""
    exchange = sum(one.seconds.likely for one in step.launches if one.kind == "exposed collectives")
    bound = sum(one.launched.bound.seconds for one in step.launches if one.launched.bound)
    return RooflineComparison(bound, step.seconds.likely, exchange, published, reason)


def check_reasons() -> None:
    """Assert the reasons for the times of the two matmuls in the table of rooflines."""
    (small, _), (single, _), _ = ROOFLINES.values()
    rates = estimates.find_rates(ROWS[small]["target"])
    rows, columns, share = estimates.TILES[0]
    assert rates
    assert 2048 * 2048 / (rows * columns) < rates.cores
    assert share < 1
    [product] = time_entry(ROWS[small]).launches
    assert product.methods["tiles"] > 1.3 * product.methods["peak rates"]
    products = [one for one in time_entry(ROWS[single]).launches if one.kind == "matmuls"]
    assert all(one.methods["estimated_cycles"] > 2 * one.methods["peak rates"] for one in products)


def show_bounds(bounds: Mapping[str, RooflineComparison]) -> str:
    """Return an HTML table of rooflines, estimates and published times, with the reasons for their differences."""
    rows = [
        (
            name,
            format_seconds(one.bound),
            format_seconds(one.likely),
            format_seconds(one.published) if one.published else "none",
            f"{one.likely / one.bound:.1f}",
            one.reason,
        )
        for name, one in bounds.items()
    ]
    header = ["program", "roofline", "estimate", "published", "estimate / roofline", "main reason"]
    return markdown.cards(header, rows)
