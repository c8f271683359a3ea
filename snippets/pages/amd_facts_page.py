"""Published facts about AMD's GPUs and their compiler, compared with the results of compiling for them."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

import stamps
from pages.amd_and_nvidia_page import AMD, read_figure
from programs import softmax, tiled_product
from xla_inspect import capture
from xla_inspect.analysis import list_kernels
from xla_inspect.report import in_words, markdown, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from xla_inspect.captured import Capture

LIBRARY = {"xla_gpu_enable_triton_gemm": False}
"""The option with which a library computes each matmul."""

type Finding = tuple[str, bool | None, str]
"""The key of a fact, whether it agrees with what is compiled (None if that does not show it), and what is seen."""


def _product(result: Any = None) -> Callable[[jax.Array, jax.Array], jax.Array]:  # noqa: ANN401 - a type of JAX
    return lambda x, y: jax.lax.dot(x, y, preferred_element_type=result)


def _multiply(target: str, kind: str, result: str | None = None) -> Capture:
    square = jax.ShapeDtypeStruct((4096, 4096), kind)
    return capture(_product(result), square, square, target=target, passes=False)


def _list_calls(compiled: Capture, name: str) -> list[str]:
    """Return the GPU's own instructions with a name in a program's LLVM code, such as `mfma.f32.32x32x4.xf32`."""
    code = "".join(piece.text for piece in compiled.code if piece.language == "llvm-unoptimized")
    return sorted({call for call in re.findall(r"llvm\.amdgcn\.([\w.]+)", code) if name in call})


def _show(values: Mapping[str, object]) -> str:
    return ", ".join(f"{value} on {short(target)}" for target, value in values.items())


def _fail(*arguments: Any, **keywords: Any) -> str:  # noqa: ANN401 - those of a capture
    """Return the compiler's error message, or an empty string if a program compiles."""
    try:
        capture(*arguments, **keywords)
    except RuntimeError as error:
        return str(error).removeprefix("INTERNAL: ").partition("\n")[0].strip().rstrip(".")
    return ""


def _read_descriptions() -> Iterator[Finding]:
    """Yield the findings in XLA's descriptions of the GPUs."""
    shared = [(read_figure(target, "shared_memory_per_block") or 0) >> 10 for target in AMD]
    yield "lds", shared == [64, 64, 160], _show({one: f"{size} KiB" for one, size in zip(AMD, shared, strict=True)})
    memory = (read_figure("mi250", "device_memory_size") or 0) / 2**30
    yield "dies", 60 < memory < 65, f"{memory:.0f} GiB for a device"


def _read_instructions() -> Iterator[Finding]:
    """Yield the findings in the code of matmuls that Triton generates."""
    products = {one: _multiply(one, "bfloat16") for one in AMD}
    calls = {one: _list_calls(program, "mfma") for one, program in products.items()}
    yield "mfma", all(calls.values()), _show({one: f"`{names[0]}`" for one, names in calls.items()})
    loads = {call for one in ("mi250", "mi350x") for call in _list_calls(products[one], "load")}
    is_buffer = all(load.startswith("raw.ptr.buffer.load") for load in loads)
    yield "buffers", is_buffer, ", ".join(f"`{load}`" for load in sorted(loads))
    yield "library", "custom_call_target" in products["mi300x"].after, "a kernel that Triton generates"
    float32 = {one: _list_calls(_multiply(one, "float32"), "mfma")[0] for one in AMD[1:]}
    is_xf32 = ["xf32" in name for name in float32.values()]
    yield "xf32", is_xf32 == [True, False], _show({one: f"`{name}`" for one, name in float32.items()})
    kinds = ("float8_e4m3fnuz", "float8_e4m3fn")
    fnuz, ocp = (_list_calls(_multiply("mi300x", kind, "float32"), "mfma")[0] for kind in kinds)
    yield "fnuz", "fp8" in fnuz and "fp8" not in ocp, f"FNUZ by `{fnuz}`, and OCP by `{ocp}`"


def _compile_programs() -> Iterator[Finding]:
    """Yield the findings in other programs: kernels, library calls and errors."""
    rows = {one: capture(softmax.softmax, *softmax.EXAMPLE, target=one, passes=False) for one in AMD}
    counts = {one: len(list_kernels(program)) for one, program in rows.items()}
    yield "softmax", {*counts.values()} == {1}, f"{_show({one: in_words(it) for one, it in counts.items()})} (kernels)"
    [threads] = [thunk.threads[0] for thunk in rows["mi300x"].thunks if thunk.threads]
    waves = int(re.findall(r'"num_warps":"?(\d+)', rows["mi300x"].after)[0])
    yield "wave", threads == 64 * waves, f"a block of {threads} threads, which is {in_words(waves)} waves"
    message = _fail(tiled_product.tiled_product, *tiled_product.SQUARES, target="mi300x", passes=False)
    yield "limit", "requested 73728, available: 65536" in message, message.partition(", context")[0]
    narrow = [jax.ShapeDtypeStruct((4096, 4096), "bfloat16")] * 2
    program = capture(_product(), *narrow, target="mi300x", options=LIBRARY, passes=False)
    [call] = re.findall(r'custom_call_target="([^"]+)"', program.after)
    yield "names", call == "__cublas$lt$matmul", f"`{call}`"
    with jax.enable_x64(True):  # noqa: FBT003 - JAX has it so
        squares = [[jax.ShapeDtypeStruct((256, 256), kind)] * 2 for kind in ("float32", "float64")]
        activated = [capture(lambda x, y: jax.nn.relu(x @ y), *it, target="mi300x", options=LIBRARY) for it in squares]
    single, double = (len(list_kernels(program)) for program in activated)
    text = f"{in_words(single)} kernel for float32, and {in_words(double)} for float64"
    yield "epilogue", (single, double) == (1, 2), text
    message = _fail(_product("float32"), *narrow, target="mi250", options=LIBRARY)
    yield "fallback", not message, message
    mesh: dict[str, Any] = {"mesh": {"data": 8}, "specs": (jax.sharding.PartitionSpec("data"),)}
    total = capture(jnp.sum, jax.ShapeDtypeStruct((4096,), "float32"), target="mi300x:8", passes=False, **mesh)
    yield "rccl", None, next(f"`{thunk.kind}`" for thunk in total.thunks if "Reduce" in thunk.kind)


@cache
def compare_facts() -> dict[str, tuple[bool | None, str]]:
    """Return, by the key of each fact, whether it agrees with what is compiled, and what is seen."""
    findings = (*_read_descriptions(), *_read_instructions(), *_compile_programs())
    return {name: (is_right, text) for name, is_right, text in findings}


def read_facts() -> dict[str, dict[str, str]]:
    """Return the published facts by their keys."""
    return tomllib.loads((stamps.DATA / "amd-facts.toml").read_text(encoding="utf-8"))


VERDICTS = {True: "agrees", False: "differs", None: "not seen"}


def show_facts() -> str:
    """Return a table of the published facts, with their sources, and what is seen when a program is compiled."""
    rows = []
    for name, fact in read_facts().items():
        is_right, text = compare_facts()[name]
        reason = f": {fact['reason']}" if "reason" in fact else ""
        rows.append((f"[{fact['claim']}]({fact['source']})", f"{VERDICTS[is_right]}{reason}", text))
    return markdown.cards(["published", "verdict", "what is compiled"], rows, formatted=True)


def check_facts() -> None:
    """Assert that each verdict is the recorded one."""
    verdicts = {name: VERDICTS[is_right] for name, (is_right, _) in compare_facts().items()}
    assert verdicts == {name: fact["verdict"] for name, fact in read_facts().items()}
