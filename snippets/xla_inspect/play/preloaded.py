"""The state in which every process of the playground begins: this module is imported by its fork server alone."""

import gc
import os
import warnings


def _prepare() -> None:
    # An interrupt of the terminal is the server's alone.
    os.setsid()
    warnings.filterwarnings("ignore", message=".*fork", category=Warning)
    from xla_inspect import targets

    targets.settle()
    from xla_inspect.play import compile_process, edit_process

    # What these imported is shared by the processes that are forked.
    del compile_process, edit_process
    gc.collect()
    gc.freeze()


_prepare()
