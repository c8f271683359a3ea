"""A record of JAX's traces of one function for several calls, with the signature of each traced call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import targets
from xla_inspect.analysis import ScriptRun
from xla_inspect.subject.compile_listener import Watch
from xla_inspect.subject.function_names import name_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.subject.subject import Call


def watch_calls(call: Call, others: Sequence[tuple[Any, ...]]) -> ScriptRun:
    """Trace a function for one call and for further calls with other arguments, without running it.

    The function is jitted once for all calls. Returns the record of JAX's traces, whose run time is 0.

    Args:
        call: The first call. A function that is already jitted keeps its own options.
        others: The positional arguments of each further call: arrays, shapes, numbers, or pytrees of them.
    """
    import jax

    # This import loads JAX, which questions about a dump do not need.
    from xla_inspect.compilation import JIT_OPTIONS, run_fresh

    targets.settle()
    settings = {name: value for name, value in call.settings.items() if name in JIT_OPTIONS}
    function: Any = call.function
    jitted = function if hasattr(function, "trace") and not settings else jax.jit(function, **settings)
    watch = Watch(signed=True)

    def work() -> None:
        # A setting with a unique value keeps JAX from reusing traces made earlier in this process.
        with targets.find_occasion()(object()), watch.watching():
            for args in (call.args, *others):
                jitted.trace(*args, **call.kwargs)

    run_fresh(work)
    return ScriptRun(name_function(function), 0.0, watch.compilations)
