"""Assertions about a compiled program do not depend on its text; a failure names the line, pass and record."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect.budgets import MEASURES, AssertionLog, BrokenError, CompiledProgram, hold_call
from xla_inspect.errors import InspectError

S = jax.ShapeDtypeStruct
ROWS = S((256, 64), jnp.float32)


def softmax(x: jax.Array) -> jax.Array:
    top = x.max(-1, keepdims=True)
    e = jnp.exp(x - top)
    return e / e.sum(-1, keepdims=True)


def attend(q: jax.Array, k: jax.Array) -> jax.Array:
    with jax.named_scope("scale"):
        scores = q @ k.T * 0.125
    return softmax(scores)


def apart(x: jax.Array) -> jax.Array:
    first = jax.lax.optimization_barrier(jnp.tanh(x))
    return jnp.sin(first)


def write_and_read(cache: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
    total = cache.sum()
    return jax.lax.dynamic_update_slice(cache, row, (3, 0)), total


@cache
def held(target: str = "cpu") -> CompiledProgram:
    return hold_call(attend, ROWS, ROWS, target=target)


def break_it(assertion: Any) -> str:  # noqa: ANN401 - whatever asserts
    with pytest.raises(BrokenError) as raised:
        assertion()
    return str(raised.value)


def test_its_numbers_are_those_that_the_summary_shows() -> None:
    # A CPU has no estimate of the time.
    numbers = {name: held().measure(name).number for name in MEASURES if name != "time"}
    assert numbers["peak"] == numbers["arguments"] + numbers["temporaries"] + numbers["results"]
    assert (numbers["arguments"], numbers["results"]) == (2 * 256 * 64 * 4, 256 * 256 * 4)
    assert numbers["flops"] > 2 * 256 * 256 * 64
    assert (numbers["exchanged"], numbers["host_calls"], numbers["constants"]) == (0, 0, 0)


def test_a_number_compares_with_numbers_and_text_on_either_side() -> None:
    peak = held().peak
    assert peak < "9 GiB"
    assert "1 KiB" < peak < 2**30
    assert np.float64(1) < peak
    assert peak == peak.number
    assert peak != "1 KiB"
    assert not peak > "1 GiB"
    assert (int(held().kernels), float(held().kernels)) == (held().kernels.number, held().kernels.number)


def test_a_number_that_is_asserted_without_a_bound_is_refused() -> None:
    with pytest.raises(TypeError, match=r"kernels is \d+: compare it with something"):
        bool(held().kernels)
    with pytest.raises(InspectError, match="peak '9' has no unit"):
        held().peak < "9"  # noqa: B015 - what is compared is the point
    with pytest.raises(AttributeError, match="there is no number 'kernel' of a program; did you mean 'kernels'"):
        held().kernel  # noqa: B018 - likewise


def test_parts_are_named_by_scope_function_variable_line_and_piece_of_a_line() -> None:
    names = ["scale", "softmax", "scores", "q @ k.T", "top", "jnp.exp(x-top)"]
    for name in names:
        held("h100").one_kernel(name) if name != "softmax" else held("h100").apart("scale", "softmax")
    line = next(
        number for number, text in enumerate(held().capture.source.splitlines(), 1) if "e = jnp.exp(x - top)" in text
    )
    held("h100").one_kernel("top", f"{line}")


def test_a_part_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InspectError) as raised:
        held().one_kernel("softmx")
    assert "the nearest are softmax" in str(raised.value)
    assert "It has the names scale, " in str(raised.value)
    for bad in ("", "  "):
        with pytest.raises(InspectError, match="the name is empty"):
            held().one_kernel(bad)
    with pytest.raises(InspectError, match="name the parts that must be one kernel"):
        held().one_kernel()


def test_two_kernels_are_told_with_their_names_and_who_kept_them_apart() -> None:
    message = break_it(lambda: hold_call(apart, ROWS).one_kernel("first", "jnp.sin"))
    assert message.startswith("first and jnp.sin of apart on CPU: 2 kernels, but must be one\n")
    assert "are two kernels: " in message
    assert "barrier" in message


def test_an_argument_that_is_copied_is_told_with_its_line_and_the_pass() -> None:
    program = hold_call(write_and_read, S((1024, 128), jnp.float32), S((1, 128), jnp.float32), donate=0)
    program.donated("cache")
    message = break_it(lambda: program.in_place(0))
    assert "cache is copied whole, 512 KiB, at test_compiled_program.py:" in message
    assert "made by the pass copy-insertion" in message
    assert "the argument cache must be preserved" in message


@pytest.mark.parametrize(
    ("argument", "message"),
    [(2, "is called with 2 arguments"), ("k2", "has no argument 'k2'; it has q, k"), (1.5, "neither the number")],
)
def test_an_argument_that_is_none_is_refused(argument: object, message: str) -> None:
    with pytest.raises(InspectError, match=message):
        held().in_place(argument)  # type: ignore[arg-type]


def test_an_argument_is_found_in_a_tree_and_among_any_number() -> None:
    def update(state: dict[str, Any], *rest: jax.Array) -> tuple[Any, ...]:
        return {name: value + rest[0] for name, value in state.items()}, rest[1] * 2

    program = hold_call(update, {"a": ROWS, "b": ROWS}, ROWS, ROWS, donate=(0, 2))
    program.in_place(0)
    program.in_place("state")
    program.in_place(2)
    assert "rest[0] (64 KiB): no result takes its place" in break_it(lambda: program.in_place(1))


def test_an_argument_that_holds_functions_too_keeps_its_place() -> None:
    def call(model: dict[str, Any], x: jax.Array) -> jax.Array:
        return model["act"](x) * model["scale"]

    program = hold_call(call, {"act": jnp.tanh, "scale": S((), jnp.float32)}, ROWS, donate=1)
    program.in_place(1)
    assert "(4 B): no result takes its place" in break_it(lambda: program.donated(0))


def test_memory_is_told_by_line_with_the_pass_that_made_it() -> None:
    message = (held("h100").temporaries < "1 KiB").explain()
    assert message.startswith(
        "temporaries of attend on NVIDIA H100 is 256 KiB, but must be < 1 KiB (255 KiB too much)\n"
    )
    assert "test_compiled_program.py:" in message
    assert "`scores = q @ k.T * 0.125`" in message


def spread(x: jax.Array, w: jax.Array) -> jax.Array:
    x = jax.lax.with_sharding_constraint(x, P("data", None))
    return jax.lax.with_sharding_constraint(x @ w, P(None, None))


def total(x: jax.Array) -> jax.Array:
    def step(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
        return jnp.sin(jax.lax.psum(jnp.sin(carry) + row, "data")), None

    def add(x: jax.Array) -> jax.Array:
        return jax.lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), x)[0]

    return jax.shard_map(add, in_specs=P(None, "data"), out_specs=P("data"), check_vma=False)(x)


@pytest.mark.parametrize("target", ["cpu:4", "h100:4", "tpu-v5e:2x2"])
def test_the_bytes_of_a_collective_are_the_same_whether_it_is_started_or_waited_for(target: str) -> None:
    program = hold_call(total, S((8, 1024), jnp.float32), mesh={"data": 4}, target=target)
    # Eight trips of a loop, each with a quarter of a row.
    assert program.collectives("all-reduce", over="data").bytes == 8 * 256 * 4
    assert program.collectives("all-reduce").count == 8
    program.none("all-gather")


def test_a_collective_that_may_not_be_is_told_with_its_line_and_who_brought_it_in() -> None:
    program = hold_call(spread, S((256, 64), jnp.float32), S((64, 64), jnp.float32), mesh={"data": 4})
    program.none("all-gather", larger_than="64 KiB")
    program.none("all-reduce")
    message = break_it(lambda: program.none("all-gather", over="data", larger_than="63 KiB"))
    assert message.startswith("spread on CPU x 4 has 1 all-gather over data larger than 63 KiB, but must have none\n")
    assert " added: " in message
    with pytest.raises(InspectError, match="has no axis 'dat': its axes are data"):
        program.none("all-gather", over="dat")
    with pytest.raises(InspectError, match="there is no collective 'all-gathr'; did you mean 'all-gather'"):
        program.collectives("all-gathr")


def test_whether_it_fits_is_asked_of_any_target() -> None:
    held().fits("tpu-v5e")
    with pytest.raises(InspectError, match="depends on the machine"):
        held().fits()
    large = hold_call(lambda x: jnp.sin(x) @ x, S((60_000, 60_000), jnp.float32), target="cpu")
    assert "does not fit" in break_it(lambda: large.fits("tpu-v5e"))


def test_two_programs_are_the_same_whatever_they_are_called() -> None:
    def renamed(a: jax.Array, b: jax.Array) -> jax.Array:
        return softmax(a @ b.T * 0.125)

    held().same_as(hold_call(renamed, ROWS, ROWS))
    other = hold_call(lambda a, b: softmax(a @ b.T * 0.25) + 1, ROWS, ROWS)
    assert "Your code differs" in break_it(lambda: held().same_as(other))


def test_what_was_recorded_is_held_and_a_failure_tells_what_changed() -> None:
    program = hold_call(softmax, ROWS, target="h100")
    record = program.record = program.make_record()
    program.as_recorded("peak", "kernels", "flops")

    def softmax_apart(x: jax.Array) -> jax.Array:
        return jax.lax.optimization_barrier(softmax(x)) * 2

    program = hold_call(softmax_apart, ROWS, target="h100")
    program.record = record
    program.hold("kernels", "recorded + 1")
    message = break_it(lambda: program.as_recorded("kernels"))
    assert "Recorded: 1." in message
    assert "Your program changed since the record, and the compiler did not: " in message
    assert "0 -> 1  kLoop  test_compiled_program.py" in message
    program.record = replace(record, fingerprint=replace(record.fingerprint, versions={"jax": "0.11.2"}))
    assert "jax 0.11.2 -> " in break_it(lambda: program.as_recorded("kernels"))


def test_what_was_not_recorded_is_told_with_how_to_record_it() -> None:
    with pytest.raises(
        InspectError, match="nothing was recorded of peak of attend on CPU: record it with pytest --xla-update"
    ):
        held().as_recorded()


def test_several_calls_are_traced_once_where_they_are_alike() -> None:
    def scale(x: jax.Array, rate: Any) -> jax.Array:  # noqa: ANN401 - a number or an array
        return x * rate

    assert hold_call(scale, ROWS, 0.1, calls=[(ROWS, 0.2), (ROWS, 0.3)]).traces == 1
    assert hold_call(jax.jit(scale), ROWS, 0.1, calls=[(ROWS, 0.2)]).traces == 1
    traces = hold_call(scale, ROWS, S((), jnp.float32), calls=[(ROWS, 0.2)]).traces
    assert traces == 2
    assert "traced again: rate (weak type): " in (traces == 1).explain()
    with pytest.raises(InspectError, match="traces counts how often several calls trace"):
        held().traces  # noqa: B018 - what reading it says is the point


def test_what_does_not_compile_says_so_whatever_is_asserted() -> None:
    program = hold_call(lambda x: (x @ x) @ x, S((200_000, 200_000), jnp.float32), target="tpu-v5e")
    assert "does not compile: out of HBM (373 GiB needed, 15.8 GiB available)" in break_it(lambda: program.kernels)
    assert "does not fit" in break_it(program.fits)


@pytest.mark.parametrize(
    ("function", "args", "options", "message"),
    [
        (3, (), {}, "is of the type int, and nothing that can be called"),
        (softmax, (ROWS,), {"target": "h1000"}, "no target is named 'h1000'"),
        (softmax, (ROWS,), {"donate": 1.5}, "donate=1.5 is neither the number of an argument nor its name"),
        (softmax, (ROWS,), {"donate": True}, "donate=True is neither"),
        (softmax, ("f32[8,", ), {}, "this is no shape"),
        (softmax, (ROWS,), {"mesh": {"data": 3}, "target": "tpu-v5e"}, "no grid of 3 devices"),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled_is_refused(function: Any, args: Any, options: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InspectError, match=message):
        hold_call(function, *args, **options)


@pytest.mark.parametrize(
    "args",
    [
        ("f32[1024,128], f32[1,128]",),
        ("f32[1024,128]", "f32[1,128]"),
        (S((1024, 128), jnp.float32), " f32[1, 128] "),
    ],
)
def test_shapes_may_be_text_and_options_those_of_jit(args: tuple[Any, ...]) -> None:
    program = hold_call(write_and_read, *args, donate_argnums=0)
    program.donated(0)


def write(cache: jax.Array, row: jax.Array) -> jax.Array:
    return jax.lax.dynamic_update_slice(cache, row, (3, 0))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("donated", [0]), ("in_place", [0]), ("no_copies", []), ("none", []), ("fits", []), ("one_kernel", ["write"])],
)
def test_an_assertion_may_stand_behind_assert(name: str, arguments: list[int | str]) -> None:
    program = hold_call(write, "f32[1024,128], f32[1,128]", donate=0, target="tpu-v5e")
    assert getattr(program, name)(*arguments)
    assert program.same_as(program)


def test_a_text_that_is_no_shape_is_an_argument() -> None:
    program = hold_call(lambda x, how: getattr(jnp, how)(x), "f32[64]", "tanh", static=1)
    assert program.kernels == 1


def test_what_a_test_forgets_to_assert_is_found() -> None:
    log = AssertionLog()
    program = hold_call(attend, ROWS, ROWS, log=log)
    assert "test_compiled_program.py:" in log.find_forgotten()
    assert log.find_forgotten().endswith("attend for cpu was compiled, but nothing was asserted about it")
    program.kernels <= 14  # noqa: B015 - that it is forgotten is the point
    assert "14 holds> was compared and not asserted; write assert in front of it" in log.find_forgotten()
    log = AssertionLog()
    hold_call(attend, ROWS, ROWS, log=log).peak  # noqa: B018 - likewise
    assert log.find_forgotten().endswith("peak of attend on CPU was read but not compared with anything")
    log = AssertionLog()
    assert hold_call(attend, ROWS, ROWS, log=log).peak < "9 GiB"
    assert log.find_forgotten() == ""
    log = AssertionLog()
    hold_call(attend, ROWS, ROWS, log=log).none("all-gather")
    assert log.find_forgotten() == ""


def test_what_stands_in_a_line_gives_no_order_to_a_terminal() -> None:
    def lit(x: jax.Array) -> jax.Array:
        return x + len("[31m")  # noqa: PLE2513 - that is the point

    message = (hold_call(lit, ROWS).results < "1 KiB").explain()
    assert "\x1b" not in message
    assert "\\x1b[31m" in message


def test_each_broken_comparison_of_one_number_names_its_own_limit() -> None:
    peak = held().measure("peak")
    texts = [(peak < limit).explain() for limit in ("1 KiB", "2 KiB")]
    assert [text.partition(" KiB (")[0].rpartition(" ")[2] for text in texts] == ["1", "2"]
