"""The division of a partitioned program's arguments and results among its devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import is_global
from xla_inspect.evaluation import Tiling, read_tiling, split_shardings
from xla_inspect.questions.numbers.program_inputs import name_parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.questions.numbers.module_runner import ModuleStage

SPLIT = (
    "Before the partitioning, modules have the shapes of the whole program and ran with the whole inputs; after it, "
    "they ran on {} simulated devices, each with its part of the inputs, and their results were joined."
)
PARTITIONING = "spmd-partitioning"
"""The end of the name of the pass that partitions a program."""


@dataclass(frozen=True)
class DeviceLayout:
    """The division of a program's arguments and results among its devices.

    Attributes:
        start: The number of the first module after the partitioning.
        parameters: The tiling of each parameter.
        results: The tiling of each result.
        arguments_shape: The dimensions of each whole argument.
        results_shape: The dimensions of each whole result.
    """

    start: int
    parameters: tuple[Tiling, ...]
    results: tuple[Tiling, ...]
    arguments_shape: tuple[tuple[int, ...], ...]
    results_shape: tuple[tuple[int, ...], ...]

    def is_whole(self, module: Module) -> bool:
        """Return whether the parameters of a module have the shapes of the whole program."""
        return _list_dimensions(module.entry.parameters) == self.arguments_shape

    def join(self, number: int, shards: Sequence[np.ndarray[Any, Any]]) -> tuple[np.ndarray[Any, Any], tuple[int, ...]]:
        """Return a whole result and the devices whose copy of it differs, from its arrays by device."""
        tiling, shape = self.results[number], self.results_shape[number]
        if shards[0].shape == shape:
            # A module before the partitioning has the whole result on each device.
            holder = tiling.holder if len(shards) > 1 else None
            tiling = Tiling((1,) * len(shape), ((0,) * len(shape),) * len(shards), holder)
        return tiling.join(shards, shape)


def find_layout(stages: Sequence[ModuleStage], devices: int, outputs: Sequence[int] | None) -> DeviceLayout | str:
    """Return the layout of a program's arguments and chosen outputs, or why it is not known."""
    start = next((number for number, stage in enumerate(stages) if not is_global(stage.text)), 0)
    if not start:
        return "the capture has no module before and after the partitioning"
    whole, part = (stage.module.entry for stage in stages[start - 1 : start + 1])
    root, shards = whole.root.shape.leaves(), part.root.shape.leaves()
    shardings = split_shardings(whole.root.attributes.get("sharding", ""), len(root))
    values = [
        (parameter.attributes.get("sharding", ""), parameter.shape, shard.shape, name_parameter(parameter))
        for parameter, shard in zip(whole.parameters, part.parameters, strict=False)
    ]
    values += [(*texts, f"result {number}") for number, texts in enumerate(zip(shardings, root, shards, strict=False))]
    if (len(whole.parameters), len(root)) != (len(part.parameters), len(shards)) or len(shardings) != len(root):
        return "the partitioning changes the number of arguments or results"
    tilings = []
    for text, shape, shard, name in values:
        tiling = None if "manual" in text else read_tiling(text, shape.rank, devices)
        if tiling is None or tiling.shrink(shape.dimensions) != shard.dimensions:
            return f"the sharding {text or '(none)'} of {name}, {shape.plain}, is not understood here"
        if any(count > 1 and size == 1 for count, size in zip(tiling.counts, shape.dimensions, strict=True)):
            return f"{name}, {shape.plain}, has a dimension of size 1 that is sharded"
        tilings.append(tiling)
    count, numbers = len(whole.parameters), range(len(root)) if outputs is None else outputs
    return DeviceLayout(
        start,
        tuple(tilings[:count]),
        tuple(tilings[count + number] for number in numbers),
        _list_dimensions(whole.parameters),
        tuple(root[number].dimensions for number in numbers),
    )


def name_partitioning(capture: Capture, stage: ModuleStage) -> ModuleStage:
    """Return the first module after the partitioning with the name of that pass.

    In a dump, it has the name of the first step of the pipeline that this pass runs itself.
    """
    names = [f"{run.pipeline}/{run.name}" for run in capture.runs if run.name.endswith(PARTITIONING) and run.changed]
    return replace(stage, step=names[0]) if names else stage


def _list_dimensions(instructions: Sequence[Instruction]) -> tuple[tuple[int, ...], ...]:
    return tuple(instruction.shape.dimensions for instruction in instructions)
