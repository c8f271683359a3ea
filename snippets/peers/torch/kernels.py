"""Inductor's part: the code it generates, how many kernels that is, and what its modes switch on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch import _dynamo, _inductor
from torch._dynamo.utils import counters
from torch._inductor import config, metrics
from torch._inductor.utils import run_and_get_code
from torch.utils._python_dispatch import TorchDispatchMode

from peers import given
from peers.torch import layers

if TYPE_CHECKING:
    from collections.abc import Callable

    from peers.recording import Recording

# What runs, in the function that the generated module calls.
LAUNCH = re.compile(r"(?m)^ +(?:\w+ = )?((?:extern_kernels|torch\.ops|cpp_fused\w*|aten)[\w.]*)\(")
MODES = ("default", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
WEIGHTS = {
    "as they are": {},
    "frozen": {"freezing": True},
    "frozen, templates in C++ alone": {
        "freezing": True,
        "max_autotune": True,
        "max_autotune_gemm_backends": "CPP",
    },
}


def generate(function: Callable[..., Any], arguments: list[torch.Tensor], **options: object) -> tuple[Any, str]:
    """Compile a function from nothing; return its result, and the code of its one graph."""
    _dynamo.reset()
    counters.clear()
    metrics.reset()
    with torch.no_grad():
        result, codes = run_and_get_code(torch.compile(function, **options), *arguments)
    (code,) = codes
    return result, code


def launches(code: str) -> list[str]:
    """Return what generated code runs, in order."""
    return LAUNCH.findall(body(code))


def body(code: str) -> str:
    """Return the function that a generated module calls."""
    found = re.search(r"(?ms)^ +def call\(self, args\):\n.*?^ +return \(.*?\)\n", code)
    return found[0] if found else ""


def excerpt(code: str) -> str:
    """Return of a generated module what it computes: its kernels, and what calls them."""
    sources = re.findall(r"(?ms)^cpp_fused\w* = async_compile\.cpp_pybinding\(.*?^'''\)\n", code)
    return "\n".join([*sources, body(code)])


class EagerCalls(TorchDispatchMode):  # type: ignore[misc]  # mypy does not see PyTorch's packages
    """The names of the operations whose kernels PyTorch calls while this mode is active, in order."""

    def __init__(self) -> None:
        """Create the empty list `names`."""
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401 - as in PyTorch
        """Note an operation's name, and run its kernel."""
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **kwargs or {})


def record(recording: Recording) -> None:
    """Record the four programs, eagerly and compiled, a dynamic size, and the modes."""
    facts = recording.facts
    facts["eager"], facts["scheduled"] = {}, {}
    for program, function in layers.PROGRAMS.items():
        inputs = layers.arguments(program)
        with torch.no_grad(), EagerCalls() as calls:
            result = function(*inputs)
        given.check(program, result)
        facts["eager"][program] = calls.names
        result, code = generate(function, inputs)
        recording.program(program, launches(code), result)
        recording.text(f"{program}/code", excerpt(code))
        facts["scheduled"][program] = {
            "nodes": metrics.ir_nodes_pre_fusion,
            "extern": counters["inductor"]["extern_calls"],
            "patterns": counters["inductor"]["pattern_matcher_count"],
        }
    _, code = generate(layers.layer, layers.arguments("layer"), dynamic=True)
    recording.text("layer/code_dynamic", excerpt(code))
    modes(recording)
    weights(recording)


def modes(recording: Recording) -> None:
    """Record which options a mode stands for, and what the layer is compiled to in it on a CPU."""
    options = _inductor.list_mode_options()
    found = recording.facts["modes"] = {}
    for mode in MODES:
        found[mode] = {"options": options[mode]}
        if "max-autotune" not in mode:
            _, code = generate(layers.layer, layers.arguments("layer"), mode=mode)
            found[mode] |= {"launches": launches(code), "graphs skipped": counters["inductor"]["cudagraph_skips"]}


def weights(recording: Recording) -> None:
    """Record what becomes of the layer as a module when its weights may be taken for constants.

    With one kind of template allowed nothing is timed, so nothing is chosen by speed.
    """
    module = layers.Dense().eval()
    x, *_ = layers.arguments("layer")
    found = recording.facts["weights"] = {}
    for name, options in WEIGHTS.items():
        with config.patch(options):
            _, code = generate(module, [x])
        found[name] = launches(code)
