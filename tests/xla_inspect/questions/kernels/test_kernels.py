"""The launches of a program with line, work and estimated time, the longest first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest
from scanned import EXAMPLE, scanned

from xla_inspect import capture
from xla_inspect.analysis import list_launches
from xla_inspect.analysis.estimates import Estimate
from xla_inspect.answers import say_time
from xla_inspect.errors import InspectError
from xla_inspect.questions.kernels.finding import rank_launches
from xla_inspect.questions.kernels.launch_rows import describe_launches
from xla_inspect.questions.time import estimate_time
from xla_inspect.report import close_brackets, model_launches

if TYPE_CHECKING:
    from collections.abc import Callable

TARGETS = ("cpu", "h100", "tpu-v5e")


@pytest.mark.parametrize("target", TARGETS)
def test_each_launch_is_listed_once_by_size_with_the_work_of_the_cost_model(target: str) -> None:
    program = capture(scanned, *EXAMPLE, target=target)
    answer = rank_launches(program, "scanned.py:scanned")
    modelled = model_launches(program)
    assert sorted(row.name for row in answer.launches) == sorted(launch.launch.name for launch in modelled)
    by_name = {launch.launch.name: launch for launch in modelled}
    for row in answer.launches:
        launch = by_name[row.name]
        assert (row.read_bytes, row.written_bytes, row.flops) == (launch.read, launch.written, launch.work.flops)
        assert row.least_seconds == (launch.bound.seconds if launch.bound else None)
        assert sum(row.flops_by_type.values()) == row.flops
    weights = [row.weight for row in answer.launches]
    assert weights == sorted(weights, reverse=True)
    assert (answer.least_seconds is None) == (answer.time is None) == (target == "cpu")


def test_the_times_of_launches_add_up_to_that_of_the_step_and_one_sentence_explains_them() -> None:
    for target, wider in (("h100", 1), ("tpu-v5e", 0)):
        program = capture(scanned, *EXAMPLE, target=target)
        answer, step = rank_launches(program), estimate_time(program)
        assert answer.time == Estimate(step.low_seconds, step.seconds or 0.0, step.high_seconds)
        times = [row.time for row in answer.launches if row.time]
        assert len(times) == len(answer.launches)
        assert sum(time.likely for time in times) == pytest.approx(step.seconds)
        text = " ".join(str(answer).split())
        assert f"that take {say_time(answer.time)} together" in text
        assert text.count("own estimates are missing") == wider
        assert text.count("not measurements") == 1
        # The bound appears only with the details of a launch, where it is named as a bound.
        assert "least" not in text
        detail = " ".join(str(rank_launches(program, names=[answer.launches[0].name])).split())
        assert f"time {say_time(times[0])}" in detail
        assert "The least time is a lower bound." in detail
    text = str(rank_launches(capture(scanned, *EXAMPLE, target="cpu")))
    assert not {"time", "limit", "range,"} & set(text.split("By line")[0].split())


@pytest.mark.parametrize("target", TARGETS)
def test_the_answer_fits_80_columns_and_counts_the_launches_not_shown(target: str) -> None:
    answer = rank_launches(capture(scanned, *EXAMPLE, target=target), "scanned.py:scanned", shown=3)
    text = str(answer)
    # Commands are never wrapped.
    assert max(len(line) for line in text.splitlines() if "xla-inspect" not in line) <= 80
    assert f"{len(answer.launches) - 3} smaller launches not shown" in text
    assert "scanned.py:" in text
    assert ("no roofline" in text) == (target == "cpu")


def test_a_launch_has_its_line_its_scope_and_its_fused_operations() -> None:
    rows = {row.name: row for row in describe_launches(capture(scanned, *EXAMPLE, target="h100"))}
    softmax = next(row for row in rows.values() if row.name.startswith("triton_softmax"))
    assert softmax.text == "scores = jax.nn.softmax(x @ x.swapaxes(1, 2))"
    assert softmax.code == ("triton", "llvm", "llvm-unoptimized", "ptx")
    assert softmax.scope.startswith("attention/")
    assert (softmax.runs, softmax.within) == (4, (softmax.within[0],))
    assert {fused.text for fused in softmax.fused} == {softmax.text}
    assert {"exponential", "divide", "reduce"} <= set(softmax.fused[0].opcodes)


def test_a_kernel_is_found_by_its_instruction_and_by_its_symbol() -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    symbols = {thunk.symbol: thunk.name for thunk in program.thunks if thunk.symbol}
    symbol, name = next((symbol, name) for symbol, name in symbols.items() if symbol.startswith("sort"))
    assert symbol != name.replace(".", "_")
    assert rank_launches(program, names=(symbol,)).named == rank_launches(program, names=(f"%{name}",)).named == (name,)


def test_an_unknown_launch_is_rejected_with_similar_names() -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    name = next(launch.name for launch in list_launches(program) if launch.name.startswith("triton_softmax"))
    with pytest.raises(InspectError, match=f"did you mean {name}"):
        rank_launches(program, names=(name.replace("x", "ks"),))


def test_the_answer_shows_known_registers_or_the_reason_for_the_gap() -> None:
    program = capture(scanned, *EXAMPLE, target="h100")
    thunk = next(thunk for thunk in program.thunks if thunk.symbol.startswith("sort"))
    text = str(rank_launches(program, names=(thunk.name,), registers={thunk.symbol: (38, 16, 1024)}))
    assert "registers      38 per thread, 16 B spilled" in text
    assert "shared memory  1 KiB per block" in text
    assert re.search(r"occupancy +\d+% of a multiprocessor's warps", text)
    assert "Registers are not known" in str(rank_launches(program, registers="Registers are not known here."))


def test_a_failed_compilation_is_reported_and_does_not_hold() -> None:
    failed_capture = capture(scanned, *EXAMPLE, target="cpu").retold(error="UNIMPLEMENTED: no such thing", after="")
    answer = rank_launches(failed_capture)
    assert not answer.holds
    assert str(answer) == "scanned does not compile for CPU: UNIMPLEMENTED: no such thing"


def factor(x: jax.Array) -> jax.Array:
    result: jax.Array = jnp.linalg.cholesky(x @ x.T)
    return result


def product(x: jax.Array) -> jax.Array:
    low = x.astype(jnp.float8_e4m3fn)
    result: jax.Array = jax.lax.dot_general(low, low, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32)
    return result


@pytest.mark.parametrize(
    ("function", "target", "options", "library"),
    [
        (factor, "cpu", {}, "lapack_spotrf_ffi"),
        (factor, "cpu", {}, "__ynn_fusion"),
        (factor, "h100", {}, "cusolver_potrf_ffi"),
        (product, "h100", {"xla_gpu_enable_triton_gemm": False}, "__cublas$lt$matmul$f8"),
        (lambda x: jax.lax.top_k(x, 4), "tpu-v5e", {}, "TopK"),
    ],
)
@pytest.mark.usefixtures("all_targets")
def test_a_library_call_is_shown_with_its_target(
    function: Callable[..., Any], target: str, options: dict[str, Any], library: str
) -> None:
    example = jax.ShapeDtypeStruct((512, 512), jnp.float32)
    answer = rank_launches(capture(function, example, target=target, options=options), "")
    assert library in {row.library for row in answer.launches}
    assert library in str(answer)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("return pl.pallas_call(", "return pl.pallas_call(...)"),
        ("table = [", "table = [...]"),
        ("y = jax.lax.scan(  # a loop", "y = jax.lax.scan(...)"),
        ("y = f(x)", "y = f(x)"),
        ("", ""),
    ],
)
def test_a_line_that_ends_in_a_bracket_is_closed(text: str, closed: str) -> None:
    assert close_brackets(text) == closed
