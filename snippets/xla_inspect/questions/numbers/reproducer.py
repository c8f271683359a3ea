"""A file of Python that shows with JAX alone how a pass changes a value, with the smallest part of the module."""

from __future__ import annotations

import inspect
import re
import shlex
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect import targets
from xla_inspect.errors import InspectError
from xla_inspect.evaluation import write_runnable
from xla_inspect.jax_private import compile_hlo, run_executable
from xla_inspect.output_file import write_file
from xla_inspect.questions.numbers.array_difference import has_numbers
from xla_inspect.questions.numbers.difference_origin import find_origin
from xla_inspect.questions.numbers.module_pair import ModulePair

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from xla_inspect.questions.numbers.finding import NumberChanges
    from xla_inspect.questions.numbers.module_pair import Names
    from xla_inspect.questions.numbers.module_runner import ModuleRunner
    from xla_inspect.questions.numbers.number_comparison import NumberComparison

_MOST_INLINE = 256
"""The largest number of elements of an array that is written as text."""

_START = '''\
"""A value that a pass of XLA changes, on this CPU; this file needs only Python, jax, jaxlib and numpy.

BEFORE and AFTER are the smallest part of a module that computes another value after the pass.
Their inputs have the same bits, and XLA runs only the passes that its CPU client needs.
xla-inspect wrote both modules for the CPU: without layouts, and without calls of other
devices' libraries.{fusions}
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count={devices}"

import jax  # JAX reads the variables above when it is imported.
import numpy as np
from numpy import inf

ABOUT = {{
{about}}}
'''
_INLINED = "\nThe instructions of each fusion are in the place of the fusion."
_MARKS = re.compile(r"  # (?:noqa|type: ).*")


def write_reproducer(comparison: NumberComparison, changes: NumberChanges, path: Path) -> str:
    """Write a file about the value at which the largest step begins to change bits, and return a sentence about it.

    Raises:
        InspectError: The file cannot be written.
    """
    largest, capture, runner = changes.largest, comparison.capture, comparison.runner
    if largest is None:
        return "There is no reproducer, because no pass changes a bit of the results."
    before, after, _ = comparison.states[changes.steps.index(largest) + 1]
    try:
        pair = ModulePair(before.module, after.module, runner)
        origin = find_origin(capture, pair.modules[0], pair.modules[1], runner)
        names, difference = pair.find_smallest(origin.instruction)
    except InspectError as error:
        return f"There is no reproducer: {error}."
    elements = f"{difference.elements} elements, by at most {difference.absolute}"
    if difference.nonfinite:
        elements += f", and {difference.nonfinite} of them are finite in one result only"
    about = {
        "pass": f"{'one of ' if len(largest.passes) > 1 else ''}{', '.join(largest.passes)}",
        "program": f"{capture.program}, compiled for {targets.title(capture.target)}",
        "line": f"{origin.where}: {origin.text}" if origin.where else "not known",
        "value": f"%{names[0]} before the pass, %{names[1]} after it",
        "difference": elements,
        "versions": ", ".join(f"{name} {version}" for name, version in capture.versions.items()),
    }
    write_file(path, "\n".join(_write(pair, names, about, runner, path)))
    command = shlex.join(["python", str(path)])
    return f"{path} shows with JAX alone how the pass changes {names[1]}; to run it: {command}"


def _write(pair: ModulePair, names: Names, about: Mapping[str, str], runner: ModuleRunner, path: Path) -> Iterator[str]:
    """Yield the texts of the file, and write large inputs to a file of NumPy next to it."""
    arrays, inputs = pair.list_inputs(names)
    devices = max(map(len, arrays.values()), default=1)
    lines = "".join(f"    {name!r}: {text!r},\n" for name, text in about.items())
    yield _START.format(devices=devices, fusions="" if runner.is_cpu else _INLINED, about=lines)
    runnable = [
        write_runnable(module, is_cpu=runner.is_cpu, rounds_sums=runner.rounds_sums) for module, _ in pair.cut(names)
    ]
    for word, (text, _) in zip(("before", "after"), runnable, strict=True):
        literal = text.replace("\\", r"\\").replace('"""', r"\"\"\"")
        yield f'# The module {word} the pass.\n{word.upper()} = """\\\n{literal}"""\n'
    yield from list_inputs(arrays, path)
    for word, (_, passes), its_inputs in zip(("before", "after"), runnable, inputs, strict=True):
        yield f"# The inputs of the module {word} the pass, and the only passes that change it here."
        yield f"{word.upper()}_INPUTS = {its_inputs}"
        same = word == "after" and passes == runnable[0][1]
        yield f"{_fill(f'{word.upper()}_PASSES = {"BEFORE_PASSES" if same else list(passes)}')}\n"
    source = inspect.getsource(sys.modules[compile_hlo.__module__])
    functions = source[source.index("def compile_hlo") :], inspect.getsource(compare_modules)
    yield "\n" + "\n\n".join(_MARKS.sub("", function) for function in functions)
    yield '\nif __name__ == "__main__":\n    print(*(f"{name}: {text}" for name, text in ABOUT.items()), sep="\\n")'
    yield "    modules = [(BEFORE, BEFORE_INPUTS, BEFORE_PASSES), (AFTER, AFTER_INPUTS, AFTER_PASSES)]"
    yield f'    print(*compare_modules(modules, INPUTS, {devices}), sep="\\n")\n'


def list_inputs(arrays: Mapping[str, Sequence[np.ndarray[Any, Any]]], path: Path) -> Iterator[str]:
    """Yield the lines of a dictionary of the inputs by device, and write the large ones to a file.

    Args:
        arrays: The arrays of each input by device.
        path: The reproducer; the file has the same name with the ending `.npz`.

    Raises:
        InspectError: The file cannot be written.
    """
    texts: dict[str, list[str]] = {}
    large: dict[str, np.ndarray[Any, Any]] = {}
    for name, shards in arrays.items():
        texts[name] = []
        for number, array in enumerate(shards):
            dtype, key = repr(array.dtype.name), f"{name} on device {number}"
            if _has_short_text(array):
                texts[name].append(f"np.array({array.tolist()}, {dtype})")
            else:
                # NumPy cannot load some of JAX's types by their names, so the file has bytes.
                large[key] = np.ascontiguousarray(array).view(f"V{array.itemsize}")
                texts[name].append(f"FILE[{key!r}].view({dtype})")
    if large:
        file = path.with_suffix(".npz")
        try:
            np.savez(file, allow_pickle=False, **large)
        except OSError as error:
            message = f"cannot write {file}: {error.strerror}"
            raise InspectError(message) from error
        yield "# Large inputs are in a file of NumPy next to this one."
        yield f"FILE = np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), {file.name!r}))\n"
    yield "# The inputs of both modules: an array for each device.\nINPUTS = {"
    yield from (_fill(f"    {name!r}: [{', '.join(parts)}],") for name, parts in texts.items())
    yield "}\n"


def _has_short_text(array: np.ndarray[Any, Any]) -> bool:
    """Return whether the text of an array's numbers is short and has all of their bits."""
    return 0 < array.size <= _MOST_INLINE and array.dtype.kind != "c" and not has_numbers(array, np.isnan)


def _fill(text: str) -> str:
    """Return the text of a list on several lines."""
    return textwrap.fill(text, 110, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False)


# A reproducer contains the text of this function.
def compare_modules(modules: Sequence[Any], inputs: Mapping[str, Sequence[Any]], devices: int) -> Iterator[Any]:
    """Run two modules, and yield their results and sentences about the difference.

    Args:
        modules: The text of each module, the names of its inputs, and the passes of XLA that may change it.
        inputs: The arrays of each input by name, one for each device.
        devices: The number of devices.
    """
    results = []
    for title, (text, names, passes) in zip(("before", "after"), modules, strict=True):
        [shards] = run_executable(compile_hlo(text, passes, devices), [inputs[name] for name in names])
        results.append(np.stack(shards) if devices > 1 else shards[0])
        yield f"{title} the pass:"
        yield results[-1]
    old, new = (np.stack([one.real, one.imag], -1) if np.iscomplexobj(one) else one for one in results)
    bits = [np.ascontiguousarray(one).reshape(-1, 1).view(np.uint8) for one in (old, new)]
    numbers = np.stack([old.astype(float), new.astype(float)])
    changed = (bits[0] != bits[1]).any(1).reshape(old.shape) & ~np.isnan(numbers).all(0)
    gap = np.abs(numbers[1] - numbers[0], where=np.isfinite(numbers).all(0), out=np.zeros(old.shape))
    largest = gap.max(initial=0)
    yield f"{changed.sum()} of {old.size} elements have other bits; the largest finite difference is {largest}"
    for place in np.argwhere(changed)[:1]:
        yield f"the first one, {place.tolist()}, changes from {old[tuple(place)]} to {new[tuple(place)]}"
