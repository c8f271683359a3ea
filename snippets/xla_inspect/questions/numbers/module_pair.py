"""The smallest part of two modules that differs: one value, and the instructions after values with equal bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.evaluation import hash_bits
from xla_inspect.questions.numbers.array_difference import compare_results
from xla_inspect.questions.numbers.difference_origin import list_constant_values
from xla_inspect.questions.numbers.module_part import cut_part, inline_calls, list_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.questions.numbers.finding import ArrayDifference
    from xla_inspect.questions.numbers.module_runner import ModuleRunner

type Names = tuple[str, str]
"""The names of a value in the module before a pass and in the one after it."""

_ATTEMPTS = 3


class ModulePair:
    """The modules before and after a pass, and the values of their entry computations.

    Raises:
        InspectError: A module did not run, or its values are too large.
    """

    def __init__(self, before: Module, after: Module, runner: ModuleRunner) -> None:
        """Run both modules."""
        if runner.is_whole(before) != runner.is_whole(after):
            message = "the pass divides the program among the devices, so the two modules have no equal inputs"
            raise InspectError(message)
        self._runner = runner
        # The CPU's compiler may contract operations inside a fusion, so its own fusions stay whole.
        self.modules = [
            module if runner.is_cpu else inline_calls(module, {"call", "fusion"}, ".copy") for module in (before, after)
        ]
        self._values = [self._list_values(module) for module in self.modules]
        self._digests = [
            {name: hash_bits(values[name]) for name in values.keys() - list_constant_values(module)}
            for module, values in zip(self.modules, self._values, strict=True)
        ]
        common = {*self._digests[0].values()}.intersection(self._digests[1].values())
        self._equal = [{name for name, digest in one.items() if digest in common} for one in self._digests]

    def _list_values(self, module: Module) -> Mapping[str, Sequence[np.ndarray[Any, Any]]]:
        inputs = zip(module.entry.parameters, self._runner.divide(self._runner.arrays, module), strict=True)
        return {**{one.name: shards for one, shards in inputs}, **self._runner.run_all_values(module)}

    def find_smallest(self, origin: str) -> tuple[Names, ArrayDifference]:
        """Return the value that needs the fewest instructions in both modules, and the difference between its arrays.

        The value needs the instruction after the pass at which the difference begins, if that has a name.

        Raises:
            InspectError: There is no such value.
        """
        sizes: dict[Names, int] = {}
        for names in self._list_counterparts():
            parts = [list_part(*one) for one in zip(self.modules, names, self._equal, strict=True)]
            if not origin or origin in parts[1]:
                sizes[names] = sum(map(len, parts))
        for names in sorted(sizes, key=sizes.__getitem__)[:_ATTEMPTS]:
            results = [
                self._runner.run_part(part, [self._values[number][name] for name in inputs])
                for number, (part, inputs) in enumerate(self.cut(names))
            ]
            if (difference := compare_results(*results)) is not None:
                return names, difference
        message = "the parts of the modules that differ compute the same without the rest"
        raise InspectError(message if sizes else f"no value that needs {origin} exists before the pass")

    def _list_counterparts(self) -> Iterator[Names]:
        """Yield the names of values and results that have the same shape in both modules, and may differ."""
        before, after = (module.entry for module in self.modules)
        pairs = [(before.by_name[new.name], new) for new in after if new.name in before.by_name]
        results = zip(*map(_list_results, self.modules), strict=False)
        for old, new in (*(pair for pair in pairs if pair[0].opcode == pair[1].opcode), *results):
            digests = [one.get(value.name) for one, value in zip(self._digests, (old, new), strict=True)]
            if new.shape.is_array and old.shape.plain == new.shape.plain and digests[0] != digests[1]:
                yield old.name, new.name

    def cut(self, names: Names) -> Iterator[tuple[Module, list[str]]]:
        """Yield the part of each module that computes a value, and the names of its inputs."""
        for module, name, equal in zip(self.modules, names, self._equal, strict=True):
            needed = list_part(module, name, equal) & equal - {name}
            inputs = [instruction.name for instruction in module.entry if instruction.name in needed]
            yield cut_part(module, name, inputs), inputs

    def list_inputs(self, names: Names) -> tuple[dict[str, Sequence[np.ndarray[Any, Any]]], list[list[str]]]:
        """Return the arrays of the inputs of both parts by name, and the names of the inputs of each part."""
        arrays: dict[str, Sequence[np.ndarray[Any, Any]]] = {}
        digests: dict[bytes, str] = {}
        lists: list[list[str]] = []
        for number, (_, inputs) in enumerate(self.cut(names)):
            lists.append([])
            for name in inputs:
                digest = self._digests[number][name]
                if digest not in digests:
                    digests[digest] = f"{name} after the pass" if name in arrays else name
                    arrays[digests[digest]] = self._values[number][name]
                lists[-1].append(digests[digest])
        return arrays, lists


def _list_results(module: Module) -> Sequence[Instruction]:
    root = module.entry.root
    return module.entry.operands(root) if root.opcode == "tuple" else [root]
