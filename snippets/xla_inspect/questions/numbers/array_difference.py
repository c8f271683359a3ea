"""The comparison of two results of a program: absolute and relative differences, and those in representable numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect.errors import InspectError
from xla_inspect.questions.numbers.finding import ArrayDifference, rank

if TYPE_CHECKING:
    from collections.abc import Sequence

type Results = Sequence[Sequence[np.ndarray[Any, Any]]]
"""The arrays of each result by device."""


def compare_results(before: Results, after: Results) -> ArrayDifference | None:
    """Return the largest difference between two results of a program, or None if all bits are equal."""
    differences = [
        difference
        for number, (old, new) in enumerate(zip(before, after, strict=True))
        if (difference := _compare(number, np.stack(old), np.stack(new))) is not None
    ]
    return max(differences, key=rank, default=None)


def check_shapes(before: Results, after: Results) -> None:
    """Check that two results can be compared.

    Raises:
        InspectError: They have different numbers of arrays, or arrays of different shapes.
    """
    shapes = [[list(shard.shape) for shards in results for shard in shards[:1]] for results in (before, after)]
    if shapes[0] != shapes[1]:
        message = f"its results have the shapes {shapes[1]} instead of {shapes[0]}"
        raise InspectError(message)


def _compare(output: int, old: np.ndarray[Any, Any], new: np.ndarray[Any, Any]) -> ArrayDifference | None:
    # A module may have another element type here than before, such as that of a reference.
    if old.dtype == new.dtype and old.tobytes() == new.tobytes():
        return None
    same_type = old.dtype == new.dtype
    is_whole = old.dtype.kind in "biu"
    bits = [_read_bits(array) for array in (old, new)] if same_type else []
    shape, old, new = old.shape, widen(old), widen(new)
    finite = np.isfinite(old) & np.isfinite(new)
    is_equal = (old == new) | (np.isnan(old) & np.isnan(new))
    is_different = ~is_equal | (bits[0] != bits[1]) & ~np.isnan(old) if bits else ~is_equal
    if not is_different.any():
        return None
    magnitudes = [float(np.abs(np.where(np.isfinite(array), array, 0)).max(initial=0)) for array in (old, new)]
    # If all numbers were 0, the difference is the whole new result.
    scale = magnitudes[0] or magnitudes[1]
    ulps = float(np.where(finite, _count_ulps(*bits), 0).max(initial=0)) if bits else 0.0
    gap = np.abs(np.where(finite, new, 0) - np.where(finite, old, 0))
    # Different large integers may be the same number in float64.
    absolute = max(float(gap.max(initial=0)), ulps if is_whole else 0.0)
    return ArrayDifference(
        output,
        _count_elements(is_different, shape),
        absolute,
        absolute / scale if scale else 0.0,
        ulps,
        _count_elements(~finite & ~is_equal, shape),
    )


def _count_elements(parts: np.ndarray[Any, Any], shape: Sequence[int]) -> int:
    """Return the number of elements of which a part is true; complex numbers have two parts."""
    return int(parts.reshape(*shape, -1).any(-1).sum())


def widen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array in float64; a complex array gets another dimension for its two parts."""
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    # The conversion of a signaling NaN would warn.
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


def _read_bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the bits of an array as signed integers in the order of the numbers, with -0 next to 0."""
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    if array.dtype == np.uint64:
        # The largest numbers have no positive signed integer; this keeps the order.
        return (array ^ np.uint64(2**63)).view(np.int64)
    if not is_floating(array):
        return array.astype(np.int64)
    import ml_dtypes

    info = ml_dtypes.finfo(array.dtype)  # type: ignore[no-untyped-call]
    size = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(f"u{size}").astype(np.int64)
    # Numbers without a sign, of float8_e8m0fnu, use all bits; those of 4 bits have their sign in the middle of a byte.
    magnitude = bits & np.int64(2 ** (info.bits - bool(info.min < 0)) - 1)
    # A negative number counts down from -1, so that -0 and 0 differ by their bits.
    ordered: np.ndarray[Any, Any] = np.where(bits == magnitude, magnitude, -1 - magnitude)
    return ordered


def _count_ulps(old: np.ndarray[Any, Any], new: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # The difference of two integers of 64 bits may need 65 bits.
    wide = np.abs(old.astype(np.float64) - new.astype(np.float64))
    steps: np.ndarray[Any, Any] = np.where(wide < 2.0**62, np.abs(old - new).astype(np.float64), wide)
    return steps


def is_floating(array: np.ndarray[Any, Any]) -> bool:
    """Return whether an array has numbers with a fraction; NumPy does not know this of JAX's own types."""
    import jax.numpy as jnp

    return bool(jnp.issubdtype(array.dtype, jnp.floating))


def find_nonfinite(results: Results) -> tuple[str, int] | None:
    """Return `NaN` or `infinity` and the number of the first output with one, NaN first; None if there is none."""
    for kind, test in (("NaN", np.isnan), ("infinity", np.isinf)):
        for number, shards in enumerate(results):
            if any(has_numbers(shard, test) for shard in shards):
                return kind, number
    return None


def has_numbers(array: np.ndarray[Any, Any], test: np.ufunc) -> bool:
    """Return whether a test such as `np.isnan` holds for an element of an array."""
    return bool(test(widen(array)).any())
