"""Command lines for follow-up questions: a subject with the options that all questions share."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

_TEXTS = ("args", "args_from", "mesh", "vmap", "only")
_LISTS = ("dim", "in_spec", "out_spec", "donate", "static", "xla")


def write_subject(options: argparse.Namespace, target: str = "") -> str:
    """Return the subject and the shared options as shell-quoted text, to append to another question.

    Args:
        options: The parsed command line.
        target: The one target of the answer, to replace the targets on the command line.
    """
    requested = [target] if target else options.target if isinstance(options.target, list) else [options.target]
    targets = [f"--target={name}" for name in requested or () if name]
    lines_of = [f"--lines-of={options.lines_of}"] * bool(options.lines_of)
    words = [part for word in (*list_call_options(options), *lines_of, *targets) for part in _write_option(word)]
    # Everything after a script's name is an argument of the script.
    is_script = options.subject[0] == "run"
    return shlex.join([*words, *options.subject] if is_script else [*options.subject, *words])


def list_call_options(options: argparse.Namespace) -> list[str]:
    """Return the options with a value that define the call of a subject, as words such as `--mesh=data=4`."""
    words = [f"--{name.replace('_', '-')}={value}" for name in _TEXTS if (value := getattr(options, name))]
    words += [f"--{name.replace('_', '-')}={value}" for name in _LISTS for value in getattr(options, name)]
    return words + ["--grad"] * options.grad


def _write_option(word: str) -> list[str]:
    """Return an option and its value as words, joined with `=` only if the value looks like an option."""
    name, equals, value = word.partition("=")
    return [name, value] if equals and not value.startswith("-") else [word]
