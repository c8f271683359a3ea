"""The state in which every process of the playground begins: this module is imported by its fork server alone."""

import gc
import os
import warnings
from importlib import import_module

# An interrupt of the terminal is the server's alone.
os.setsid()
warnings.filterwarnings("ignore", message=".*fork", category=Warning)
import_module("xla_inspect.targets").settle()
for role in ("compile_process", "edit_process"):
    import_module(f"xla_inspect.play.{role}")
gc.collect()
gc.freeze()
