"""TorchDynamo's part: which graphs it takes out of Python, what it guards, where it breaks, what it does besides."""

from __future__ import annotations

import contextlib
import io
import logging
import re
from typing import TYPE_CHECKING, Any

import torch
from torch import _dynamo, _logging
from torch._C._dynamo.eval_frame import _debug_get_cache_entry_list

from peers.torch import layers

if TYPE_CHECKING:
    from collections.abc import Callable

    from peers.recording import Recording

# What a guard says after its condition: where it comes from. And what is a number of this process.
SOURCE = {
    r"(?m)\s+# .*$": "",
    r"against \{.*\}": "against {...}",
    r"(___check_\w+_id\([^,]+), \d+": r"\1, ...",
    r"(?m)^\n": "",
}
MESSAGE = {
    r'"\S*/peers/torch/': '"',
    r"(?m)^  Hint: For the common pattern.*\n": "",
    r"\n+Set TORCHDYNAMO_VERBOSE[\s\S]*": "",
}


class Graphs:
    """A backend that keeps the graphs it is given, and runs them as they are."""

    def __init__(self) -> None:
        """Begin with none."""
        _dynamo.reset()
        self.found: list[torch.fx.GraphModule] = []

    def __call__(self, graph: torch.fx.GraphModule, _: list[torch.Tensor]) -> Callable[..., Any]:
        """Keep a graph; return what runs it."""
        self.found.append(graph)
        forward: Callable[..., Any] = graph.forward
        return forward


class Recompiles(logging.Handler):
    """What TorchDynamo says when a guard fails."""

    def __init__(self) -> None:
        """Listen to its log of recompiles."""
        super().__init__()
        self.reasons: list[str] = []
        _logging.set_logs(recompiles=True)
        logger = logging.getLogger("torch._dynamo.guards.__recompiles")
        logger.propagate = False
        logger.handlers = [self]

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first reason of a message, without where it stands."""
        reason = re.search(r"(?m)^ +- \d+/\d+: (.*?)(?: {2,}#.*)?$", record.getMessage())
        self.reasons.append(reason[1] if reason else record.getMessage().splitlines()[0])


def record(recording: Recording) -> None:
    """Record all of it."""
    recording.facts["operations"] = {}
    for program, function in layers.PROGRAMS.items():
        graphs = Graphs()
        torch.compile(function, backend=graphs)(*layers.arguments(program))
        (graph,) = graphs.found
        recording.text(f"{program}/fx", readable(graph))
        recording.facts["operations"][program] = operations(graph)
    guards(recording)
    breaks(recording)
    effects(recording)
    sizes(recording)


def readable(graph: torch.fx.GraphModule) -> str:
    """Return a graph as PyTorch prints it, with the source line of each operation."""
    text = graph.print_readable(print_output=False, include_stride=False)
    return re.sub(r"(?m)# File: \S+?(\w+\.py):\d+ in (\w+), code:", r"# \1, \2:", text)


def operations(graph: torch.fx.GraphModule) -> list[str]:
    """Return the names of a graph's operations."""
    return [
        str(getattr(node.target, "__name__", node.target)) for node in graph.graph.nodes if node.op.startswith("call")
    ]


def guards(recording: Recording) -> None:
    """Record what is checked before the compiled layer may run."""
    graphs = Graphs()
    torch.compile(layers.layer, backend=graphs)(*layers.arguments("layer"))
    (entry,) = _debug_get_cache_entry_list(layers.layer.__code__)
    text = str(entry.guard_manager)
    recording.text("layer/guards", text, SOURCE)
    kinds = re.findall(r"\+- ([A-Z_]{4,}):", text)
    recording.facts["guards"] = {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def breaks(recording: Recording) -> None:
    """Record what a branch and a call of `print` do to the graph, and the message that refuses to break it."""
    found = recording.facts["breaks"] = {}
    for name, program in {"branching": layers.branching, "printing": layers.printing}.items():
        inputs, graphs = layers.arguments("layer" if name == "branching" else "gelu"), Graphs()
        compiled, said = torch.compile(program, backend=graphs), io.StringIO()
        with contextlib.redirect_stdout(said):
            for _ in range(3):
                compiled(*inputs)
        found[name] = {"graphs": [operations(each) for each in graphs.found], "printed": said.getvalue().splitlines()}
    _dynamo.reset()
    try:
        torch.compile(layers.branching, backend=Graphs(), fullgraph=True)(*layers.arguments("layer"))
    except _dynamo.exc.Unsupported as error:
        recording.text("refused/branch", str(error), MESSAGE)


def effects(recording: Recording) -> None:
    """Record what becomes of writes to Python objects, call by call."""
    found = recording.facts["effects"] = {}
    (x,) = layers.arguments("gelu")
    for name, program in {"remembering": layers.remembering, "appending": layers.appending}.items():
        graphs, ledger, recompiles = Graphs(), layers.Ledger(), Recompiles()
        compiled = torch.compile(program, backend=graphs)
        seen = []
        for _ in range(3):
            ledger.last = 0
            compiled(x, ledger)
            seen.append([len(graphs.found), ledger.last, len(ledger.calls)])
        found[name] = {
            "graphs": [each[0] for each in seen],
            "last": [each[1] for each in seen],
            "appended": [each[2] for each in seen],
            "operations": operations(graphs.found[0]),
            "reasons": recompiles.reasons,
        }


def sizes(recording: Recording) -> None:
    """Record for which batch sizes a layer is compiled again, and the graph with a size that is a symbol."""
    x, w, b = layers.arguments("layer")
    found: dict[str, Any] = {"sizes": [64, 32, 7, 48, 1, 2]}
    for name, dynamic in {"automatic": None, "never": False, "always": True}.items():
        graphs, recompiles = Graphs(), Recompiles()
        compiled = torch.compile(layers.layer, backend=graphs, dynamic=dynamic)
        counts = []
        for size in found["sizes"]:
            compiled(x[:size].clone(), w, b)
            counts.append(len(graphs.found))
        found[name] = [after - before for before, after in zip([0, *counts], counts, strict=False)]
        found[f"{name} reasons"] = recompiles.reasons
        if dynamic is None:
            recording.text("layer/fx_dynamic", readable(graphs.found[1]))
    recording.facts["sizes"] = found
