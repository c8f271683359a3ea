"""The imports and settings that all playground processes share; only the process that forks them imports this."""

import gc
import os
import warnings


def _prepare() -> None:
    # In a session of their own, these processes get no interrupts from the terminal; only the server handles them.
    os.setsid()
    warnings.filterwarnings("ignore", message=".*fork", category=Warning)
    from xla_inspect import targets

    targets.settle()
    from xla_inspect.play import compile_process, edit_process

    # The forked processes share the modules imported above.
    del compile_process, edit_process
    # Frozen objects are never collected, so the forked processes keep sharing their memory.
    gc.collect()
    gc.freeze()


_prepare()
