"""The elements of a program's inputs that lead to a NaN or an infinity."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect.errors import InspectError
from xla_inspect.questions.numbers.array_difference import widen
from xla_inspect.questions.numbers.finding import Causes, InputElement
from xla_inspect.questions.numbers.module_part import cut_part, list_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.hlo import Module
    from xla_inspect.questions.numbers.module_runner import ModuleRunner

_MOST_ELEMENTS, _MOST_RUNS, _SECONDS, _LARGEST = 3, 100, 60.0, 1 << 24
_HARMLESS = ((1, 1), (0.5, 0.5), (2, 2), (0, 0), (0.5, 2))
"""The first and the last number that replace elements; the first pair that leads to no NaN or infinity is used."""


def find_causes(module: Module, origin: str, kind: str, names: Sequence[str], runner: ModuleRunner) -> Causes:
    """Return the first elements of the inputs that lead to a `NaN` or an `infinity`, which begins at an instruction."""
    search = _Search(module, origin, kind, runner)
    if not search.parameters:
        return Causes(note="No input element leads to it.")
    try:
        places = search.find_places()
    except InspectError as error:
        return Causes(note=f"The input element that leads to it is not known: {error}.")
    elements = []
    for place in places[:_MOST_ELEMENTS]:
        at = int(np.searchsorted(search.begins, place, side="right")) - 1
        array = search.arrays[at]
        index = tuple(map(int, np.unravel_index(place - search.begins[at], array.shape)))
        elements.append(InputElement(names[search.numbers[at]], index, str(array[index])))
    return Causes(tuple(elements), "Further elements are needed, too." if len(places) > _MOST_ELEMENTS else "")


class _Search:
    """Runs of the part of a module that computes a NaN or an infinity, in which harmless numbers replace elements."""

    def __init__(self, module: Module, origin: str, kind: str, runner: ModuleRunner) -> None:
        self._module, self._origin, self._runner = module, origin, runner
        self._test = np.isnan if kind == "NaN" else np.isinf
        needed = list_part(module, origin, ())
        self.parameters = [parameter for parameter in module.entry.parameters if parameter.name in needed]
        self.numbers = [parameter.parameter_number or 0 for parameter in self.parameters]
        self.arrays = [runner.arrays[number] for number in self.numbers]
        self.begins = np.cumsum([0, *(array.size for array in self.arrays)])
        self._runs, self._start = 0, time.monotonic()

    def find_places(self) -> list[int]:
        """Return the places of the first elements that are enough, among those of all inputs.

        Raises:
            InspectError: The elements are not known, with the reason.
        """
        if self.parameters[0].name == self._origin:
            return [int(np.argmax(self._test_elements(self.arrays[0])))]
        size = int(self.begins[-1])
        if size > _LARGEST:
            message = f"the inputs have more than {_LARGEST:,} elements"
            raise InspectError(message)
        self._part = cut_part(self._module, self._origin, [parameter.name for parameter in self.parameters])
        self._harmless = np.ones(size)
        tests = self._run(size, [])
        result = next((number for number, elements in enumerate(tests) if elements.any()), None)
        if result is None:
            message = "without the rest of the module, the instruction does not compute it"
            raise InspectError(message)
        self._place = result, int(np.argmax(tests[result]))
        for first, last in _HARMLESS:
            self._harmless = np.linspace(first, last, size)
            if not self._occurs(0, []):
                break
        else:
            message = "it is also there with other numbers instead of all elements"
            raise InspectError(message)
        elements: list[int] = []
        high = size
        while not elements or (len(elements) <= _MOST_ELEMENTS and not self._occurs(0, elements)):
            # With the elements that are known, the first `high` ones are enough, and the first `low` ones are not.
            low = 0
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._occurs(middle, elements) else (middle, high)
            high -= 1
            elements.append(high)
        return sorted(elements)

    def _occurs(self, count: int, elements: Sequence[int]) -> bool:
        """Return whether it occurs with the first elements and some others, and harmless numbers for the rest."""
        result, place = self._place
        return bool(self._run(count, elements)[result][place])

    def _run(self, count: int, elements: Sequence[int]) -> list[np.ndarray[Any, Any]]:
        """Run the part with these elements, and return for each array of results where a number of the kind is."""
        self._runs += 1
        if self._runs > _MOST_RUNS or time.monotonic() - self._start > _SECONDS:
            message = f"the search ended after {self._runs - 1} runs"
            raise InspectError(message)
        is_original = np.arange(self._harmless.size) < count
        is_original[[*elements]] = True
        arrays = [*self._runner.arrays]
        for number, array, begin in zip(self.numbers, self.arrays, self.begins, strict=False):
            part = slice(begin, begin + array.size)
            values = np.where(is_original[part], array.ravel(), self._harmless[part].astype(array.dtype))
            arrays[number] = values.reshape(array.shape)
        divided = self._runner.divide(arrays, self._module)
        arguments = [divided[number] for number in self.numbers]
        return [
            self._test_elements(shard) for shards in self._runner.run_part(self._part, arguments) for shard in shards
        ]

    def _test_elements(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return for each element of an array whether it is a number of the kind."""
        elements: np.ndarray[Any, Any] = self._test(widen(array)).reshape(array.size, -1).any(1)
        return elements
