"""The rules that derive the shape of a result from the operands, by opcode (xla/service/shape_inference.cc)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from xla_inspect.hlo.shape import BITS, Shape, read_shape
from xla_inspect.hlo.windows import read_padding, read_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_PARTS = {"c64": "f32", "c128": "f64"}
_WHOLE = {part: whole for whole, part in _PARTS.items()}


class Question(NamedTuple):
    """The input of a shape rule: opcode, operand shapes, attributes, and a lookup of a computation's result shape."""

    opcode: str
    operands: tuple[Shape, ...]
    attributes: Mapping[str, str]
    called: Callable[[str], str]

    def numbers(self, key: str) -> tuple[int, ...]:
        """Return the integers in an attribute's text, or an empty tuple if the attribute is missing."""
        return tuple(map(int, _NUMBER.findall(self.attributes.get(key, ""))))

    def result(self, key: str) -> Shape:
        """Return the shape of the result of the first computation in an attribute."""
        return read_shape(self.called(self.attributes.get(key, "").strip("{}").partition(",")[0].removeprefix("%")))


def _array(dtype: str, sizes: Sequence[str]) -> str:
    return f"{dtype}[{','.join(sizes)}]"


def _sizes(shape: Shape) -> list[str]:
    """Return the sizes of an array's dimensions as written: `<=8` if dynamic, `?` if dynamic without a bound."""
    if not (shape.is_array or shape.dtype in BITS):
        raise ValueError
    sizes = zip(shape.dimensions, shape.dynamic, strict=True)
    return [("?" if size < 0 else f"<={size}") if dynamic else str(size) for size, dynamic in sizes]


def _resize(shape: Shape, dtype: str, sizes: Sequence[str]) -> str:
    """Return the text of an array's shape with other sizes and another element type, but the same layout."""
    return _array(dtype, sizes) + shape.text[shape.text.index("]") + 1 :]


def _retype(shape: Shape, dtype: str) -> str:
    """Return the text of an array's shape with another element type, but the same sizes and layout."""
    return dtype + shape.text.removeprefix(shape.dtype)


def combine(question: Question) -> str:
    """Return the shape of an element-wise result as text: the operands' broadcast sizes and their widest type."""
    operands = question.operands
    # Operands of a lower rank are broadcast, so only those of the highest rank determine the sizes.
    widest = max(operands, key=lambda shape: shape.rank)
    alike = [shape for shape in operands if shape.rank == widest.rank]
    first = max(alike, key=lambda shape: BITS.get(shape.dtype, 0))
    if len(operands) == 1:
        return first.text
    dtype = max((shape.dtype for shape in [first, *operands]), key=lambda dtype: BITS.get(dtype, 0))
    if all(shape.dimensions == first.dimensions for shape in operands):
        return _retype(first, dtype)
    return _array(dtype, [max(sizes, key=lambda size: size != "1") for sizes in zip(*map(_sizes, alike), strict=True)])


def _compare(question: Question) -> str:
    return _retype(read_shape(combine(question)), "pred")


def _select(question: Question) -> str:
    choice, shape = question.operands[:2]
    # A scalar predicate selects a whole value, but an array of predicates selects element by element.
    return _retype(choice, shape.dtype) if choice.rank and shape.is_array else shape.text


def _complex(question: Question) -> str:
    shape = read_shape(combine(question))
    return _retype(shape, _WHOLE[shape.dtype])


def _part(question: Question) -> str:
    shape = question.operands[0]
    return _retype(shape, _PARTS.get(shape.dtype, shape.dtype))


def _tuple(question: Question) -> str:
    return _join([shape.text for shape in question.operands])


def _join(shapes: Sequence[str]) -> str:
    return f"({', '.join(shapes)})"


def _element(question: Question) -> str:
    return question.operands[0].elements[question.numbers("index")[0]].text


def _broadcast(question: Question) -> str:
    operand = question.operands[0]
    return _array(operand.dtype, [*map(str, question.numbers("dimensions")), *_sizes(operand)])


def _concatenate(question: Question) -> str:
    (number,) = question.numbers("dimensions")
    sizes = _sizes(question.operands[0])
    sizes[number] = str(sum(shape.dimensions[number] for shape in question.operands))
    return _array(question.operands[0].dtype, sizes)


def _transpose(question: Question) -> str:
    operand, order = question.operands[0], question.numbers("dimensions")
    shape = _array(operand.dtype, [_sizes(operand)[number] for number in order])
    usual = tuple(range(operand.rank))[::-1]
    layout = operand.layout.minor_to_major if operand.layout else usual
    moved = tuple(order.index(number) for number in layout)
    if operand.layout is None:
        return shape if moved == usual else f"{shape}{{{','.join(map(str, moved))}}}"
    return f"{shape}{operand.text[len(shape) :].replace(','.join(map(str, layout)), ','.join(map(str, moved)), 1)}"


def _reduce(question: Question) -> str:
    removals = question.numbers("dimensions")
    remaining = [size for number, size in enumerate(_sizes(question.operands[0])) if number not in removals]
    result = question.result("to_apply")
    if result.is_tuple:
        return _join([_array(element.dtype, remaining) for element in result.elements])
    return _array(result.dtype, remaining)


def _map(question: Question) -> str:
    return _array(question.result("to_apply").dtype, _sizes(question.operands[0]))


def _several(question: Question) -> str:
    """Return the shape of the only operand, or a tuple of the shapes of several operands."""
    return question.operands[0].text if len(question.operands) == 1 else _tuple(question)


def _scatter(question: Question) -> str:
    # The operands are n arrays, their indices and n arrays of updates, so the first half are the arrays.
    return _several(question._replace(operands=question.operands[: len(question.operands) // 2]))


def _dot(question: Question) -> str:
    return _multiply(question, question.operands[0], question.operands[1])


def _ragged_dot(question: Question) -> str:
    lhs, rhs, groups = question.operands[:3]
    (ragged,) = question.numbers("lhs_ragged_dims")
    sizes = _multiply(question, lhs, rhs)
    # If the ragged dimension is contracted, each group has its own product, which adds a leading dimension.
    is_contracting = ragged in question.numbers("lhs_contracting_dims")
    return sizes.replace("[", f"[{_sizes(groups)[-1]},") if is_contracting else sizes


def _scaled_dot(question: Question) -> str:
    # The scales follow each operand or both operands; XLA's parser itself uses the first and the third as factors.
    return _multiply(question, question.operands[0], question.operands[2])


def _multiply(question: Question, lhs: Shape, rhs: Shape) -> str:
    # The result has the batch dimensions first, then the remaining dimensions of both operands.
    batch = question.numbers("lhs_batch_dims")
    lhs_skips = {*batch, *question.numbers("lhs_contracting_dims")}
    keys = ("rhs_batch_dims", "rhs_contracting_dims", "rhs_group_dims")
    rhs_skips = {number for key in keys for number in question.numbers(key)}
    lhs_sizes, rhs_sizes = _sizes(lhs), _sizes(rhs)
    sizes = [lhs_sizes[number] for number in batch]
    sizes += [size for number, size in enumerate(lhs_sizes) if number not in lhs_skips]
    sizes += [size for number, size in enumerate(rhs_sizes) if number not in rhs_skips]
    return _array(max(lhs.dtype, rhs.dtype, key=lambda dtype: BITS[dtype]), sizes)


def _pad(question: Question) -> str:
    sizes = read_padding(question.attributes["padding"], question.operands[0].dimensions)
    return _array(question.operands[0].dtype, list(map(str, sizes)))


def _reduce_window(question: Question) -> str:
    windows = read_windows(question.attributes.get("window", ""))
    operands, starts = _halve(question.operands)
    sizes = operands[0].dimensions
    counts = [str(window.count(size)) for window, size in zip(windows, sizes, strict=True)] if windows else []
    shapes = [_array(start.dtype, counts or _sizes(operands[0])) for start in starts]
    return shapes[0] if len(shapes) == 1 else _join(shapes)


def _halve(shapes: Sequence[Shape]) -> tuple[Sequence[Shape], Sequence[Shape]]:
    """Return the first half of the operands (the values) and the second half (their initial values)."""
    return shapes[: len(shapes) // 2], shapes[len(shapes) // 2 :]


def _convolution(question: Question) -> str:
    inputs, kernel = question.operands[:2]
    labels = re.fullmatch(r"(\w+)_(\w+)->(\w+)", question.attributes["dim_labels"].replace("?", "_"))
    if labels is None:
        raise ValueError
    groups = (question.numbers("batch_group_count") or (1,))[0]
    sizes = {"b": inputs.dimensions[labels[1].index("b")] // groups, "f": kernel.dimensions[labels[2].index("o")]}
    for number, window in enumerate(read_windows(question.attributes.get("window", ""))):
        sizes[str(number)] = window.count(inputs.dimensions[labels[1].index(str(number))])
    dtype = max(inputs.dtype, kernel.dtype, key=lambda dtype: BITS[dtype])
    return _array(dtype, [str(sizes[label]) for label in labels[3]])


def _fft(question: Question) -> str:
    operand, lengths = question.operands[0], question.numbers("fft_length")
    sizes = _sizes(operand)
    kind = question.attributes["fft_type"]
    if kind == "RFFT":
        # The second half of the spectrum of a real signal mirrors the first, so it is not stored.
        sizes[-1] = str(lengths[-1] // 2 + 1) if lengths[-1] else "0"
        return _resize(operand, _WHOLE[operand.dtype], sizes)
    if kind == "IRFFT":
        sizes[-1] = str(lengths[-1])
        return _resize(operand, _PARTS[operand.dtype], sizes)
    return operand.text


def _batch_norm(question: Question) -> str:
    operand = question.operands[0]
    feature = _array(operand.dtype, [_sizes(operand)[question.numbers("feature_index")[0]]])
    return _join([operand.text, feature, feature])


def _gather(question: Question) -> str:
    operand, indices = question.operands[:2]
    offsets, sizes = question.numbers("offset_dims"), question.numbers("slice_sizes")
    removals = {*question.numbers("collapsed_slice_dims"), *question.numbers("operand_batching_dims")}
    slices = [str(size) for number, size in enumerate(sizes) if number not in removals]
    (vector,) = question.numbers("index_vector_dim")
    batch = [size for number, size in enumerate(_sizes(indices)) if number != vector]
    # Offset dimensions have the sizes of the slice and all others those of the batch, each in order.
    rank = len(batch) + len(slices)
    return _array(operand.dtype, [slices.pop(0) if number in offsets else batch.pop(0) for number in range(rank)])


def _set_size(question: Question) -> str:
    (number,) = question.numbers("dimensions")
    sizes = _sizes(question.operands[0])
    sizes[number] = f"<={sizes[number].removeprefix('<=')}"
    return _resize(question.operands[0], question.operands[0].dtype, sizes)


def _top(question: Question) -> str:
    operand, (number,) = question.operands[0], question.numbers("k")
    sizes = [*_sizes(operand)[:-1], str(number)]
    return _join([_array(operand.dtype, sizes), _array("s32", sizes)])


def _scan(question: Question) -> str:
    (number,), (carries,) = question.numbers("dimensions"), question.numbers("num_carries")
    length = _sizes(question.operands[0])[number]
    result = question.result("to_apply")

    def extend(shape: Shape) -> str:
        sizes = _sizes(shape)
        return _array(shape.dtype, [*sizes[:number], length, *sizes[number:]])

    if not result.is_tuple:
        return result.text if carries else extend(result)
    # The outputs come first and gain the scanned dimension; the carries after them keep their shapes.
    count = len(result.elements) - carries
    return _join([extend(shape) if index < count else shape.text for index, shape in enumerate(result.elements)])


def _call(question: Question) -> str:
    # All branches return the same shape, so the first branch determines it.
    keys = ("to_apply", "true_computation", "branch_computations")
    return question.result(next(key for key in keys if key in question.attributes)).text


RULES: Mapping[str, Callable[[Question], str]] = {
    "abs": _part,
    "after-all": lambda _: "token[]",
    "batch-norm-grad": _batch_norm,
    "batch-norm-training": _batch_norm,
    "broadcast": _broadcast,
    "call": _call,
    "clamp": lambda question: question.operands[1].text,
    "compare": _compare,
    "complex": _complex,
    "concatenate": _concatenate,
    "conditional": _call,
    "convolution": _convolution,
    "dot": _dot,
    "fft": _fft,
    "gather": _gather,
    "get-dimension-size": lambda _: "s32[]",
    "get-tuple-element": _element,
    "imag": _part,
    "is-finite": lambda question: _retype(question.operands[0], "pred"),
    "map": _map,
    "pad": _pad,
    "partition-id": lambda _: "u32[]",
    "ragged-dot": _ragged_dot,
    "real": _part,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "replica-id": lambda _: "u32[]",
    "scaled-dot": _scaled_dot,
    "scan": _scan,
    "scatter": _scatter,
    "select": _select,
    "set-dimension-size": _set_size,
    "sort": _several,
    "topk": _top,
    "transpose": _transpose,
    "triangular-solve": lambda question: question.operands[1].text,
    "tuple": _tuple,
}
"""The function that returns the shape of an instruction's result as text, by opcode."""
