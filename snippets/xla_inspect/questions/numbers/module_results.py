"""The difference between the results of two modules, as a reproducer prints it; the reproducer contains this code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect.jax_private import compile_hlo, run_executable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


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
