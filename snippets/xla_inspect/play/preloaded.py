"""The preloaded state of every playground process; only the fork server imports this module."""

import gc
import os
import warnings


def _prepare() -> None:
    # Only the server handles an interrupt from the terminal.
    os.setsid()
    warnings.filterwarnings("ignore", message=".*fork", category=Warning)
    from xla_inspect import targets

    targets.settle()
    from xla_inspect.play import compile_process, edit_process

    # The forked processes share the modules imported above.
    del compile_process, edit_process
    gc.collect()
    gc.freeze()


_prepare()
