"""Times that others measured and published, with the work that their sources count."""

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from published import decoder, kernels
from published.transformer import Decoder, Step, shapes

TIMES = Path(__file__).resolve().parents[2] / "docs" / "data" / "published-times.toml"
PROGRAMS: dict[str, dict[str, Any]] = {"decoder.py": decoder.PROGRAMS, "kernels.py": kernels.PROGRAMS}
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}

type Entry = Mapping[str, Any]


def read_times() -> dict[str, Any]:
    """Return the file's tables: sources, rows, variants, pairs, worked examples and own measurements."""
    return tomllib.loads(TIMES.read_text(encoding="utf-8"))


def find_program(entry: Entry) -> Any:  # noqa: ANN401 - a step, a layer or a kernel
    """Return the program of an entry of the file."""
    file, _, name = entry["program"].partition(":")
    return PROGRAMS[file][name]


def count_chips(entry: Entry) -> int:
    """Return the number of chips or GPUs of an entry's target, of which a kernel uses one."""
    return math.prod(int(size) for size in (entry["target"].partition(":")[2] or "1").split("x"))


def count_parameters(step: Step) -> int:
    """Return the number of a step's parameters."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(step.example[0]["params"]))


def count_flops(entry: Entry) -> float:
    """Return the model flops of a step for one chip, as `counted` describes them, or the flops of a kernel."""
    program = find_program(entry)
    if "counted" not in entry:
        return float(program.flops)
    counted: Mapping[str, bool] = entry["counted"]
    model: Decoder = program.model
    weights = count_parameters(program)
    if not counted["embedding"]:
        inner, _ = shapes(model)
        matrices = sum(math.prod(shape) for shape in inner.values() if len(shape) > 1)
        weights = model.layers * matrices + model.vocabulary * model.width
    attention = (6 if counted["causal"] else 12) * model.layers * model.heads * model.size * model.length
    return model.batch * model.length * (6 * weights + attention) / count_chips(entry)


def find_seconds(entry: Entry) -> float:
    """Return the published time of an entry, calculated from its rate if the source has only a rate."""
    figure, unit = float(entry["figure"]), entry["unit"]
    if unit in UNITS:
        return figure * UNITS[unit]
    if unit.startswith("TFLOP/s"):
        return count_flops(entry) / figure / 1e12
    model: Decoder = find_program(entry).model
    return model.batch * (model.length if unit == "tokens/s" else 1) / figure


def scale_time(entry: Entry, seconds: float, per: str) -> float:
    """Return the seconds of a step as they are, or those of one chip for a token; `per` is `step` or `token`."""
    if per == "step":
        return seconds
    model: Decoder = find_program(entry).model
    return seconds * count_chips(entry) / (model.batch * model.length)
