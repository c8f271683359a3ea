"""The parsed subject of a command line, and the options of its call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KINDS = ("donate", "remat", "batch", "vmem", "schedule")
"""The kinds of changes that may save memory, or raise a memory limit."""

EFFECTS = ("donate", "pass", "barrier", "layout", "batch", "precision", "sharding", "option", "target")
"""The kinds of changes that may affect the compiler's handling of a part of a program."""

PLANNED = ("mesh", "specs", "remat", "microbatch", "donate", "parameter")
"""The kinds of changes that a plan for a training step combines."""


@dataclass(frozen=True)
class Request:
    """A subject and the options of its call, as given on the command line.

    Attributes:
        words: The subject: `FILE.py:FUNCTION`, `package.module:FUNCTION`, a saved capture, a dump, or `run` and a
            script with its arguments.
        args: The shapes of positional arguments as text, or an empty string.
        args_from: The function that creates the arguments, as `FILE.py:FUNCTION`, or an empty string.
        mesh: Axis names and sizes.
        in_spec: The partition specs of arguments as text, such as `x=P('data', None)`.
        out_spec: The partition specs of results as text.
        donate: Numbers or names of the donated arguments.
        static: Numbers or names of the static arguments.
        grad: Whether to differentiate the function with respect to the first argument.
        vmap: The batch size to map the function over, or 0 for no batch.
        only: The name of the function to select in a script.
        xla: Options of XLA by name.
        whole: Whether the subject is a whole script or dump instead of one of its functions or modules.
        devices: The number of devices of the requested target, which a script sees.
        dims: Sizes of the dimensions that a StableHLO program leaves open, by name.
    """

    words: tuple[str, ...]
    args: str = ""
    args_from: str = ""
    mesh: Mapping[str, int] = field(default_factory=dict)
    in_spec: tuple[str, ...] = ()
    out_spec: tuple[str, ...] = ()
    donate: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    grad: bool = False
    vmap: int = 0
    only: str = ""
    xla: Mapping[str, str | int | bool] = field(default_factory=dict)
    whole: bool = False
    devices: int = 1
    dims: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_script(self) -> bool:
        """True if the subject is a script to run."""
        return self.words[0] == "run"

    @property
    def jit_options(self) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
        """The options of `jax.jit` for donated and static arguments, as keyword arguments; empty if there are none."""
        return {**name_arguments("donate", self.donate), **name_arguments("static", self.static)}

    @property
    def file(self) -> str:
        """The user's file or module, as written on the command line."""
        if self.is_script:
            return next((word for word in self.words[1:] if word != "-m"), "")
        return self.words[0].rpartition(":")[0] or self.words[0]


def name_arguments(option: str, arguments: Iterable[int | str]) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
    """Return the options of `jax.jit` that select arguments by number, which may be text, or by name."""
    texts = tuple(map(str, arguments))
    # `jax.jit` also accepts negative numbers, which count from the last argument.
    numbers = tuple(int(text) for text in texts if text.lstrip("-").isdecimal())
    names = tuple(text for text in texts if not text.lstrip("-").isdecimal())
    return ({f"{option}_argnums": numbers} if numbers else {}) | ({f"{option}_argnames": names} if names else {})


def read_mesh(text: str) -> dict[str, int]:
    """Return the sizes of the mesh axes by name, from a text such as `data=4,fsdp=64`.

    Raises:
        InspectError: The text has another form.
    """
    axes: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, size = part.partition("=")
        if not (name.strip().isidentifier() and size.strip().isdecimal() and int(size)):
            message = f"--mesh {text!r}: write the axes with their sizes, such as data=4,fsdp=64"
            raise InspectError(message)
        axes[name.strip()] = int(size)
    return axes


def read_sizes(texts: Sequence[str]) -> dict[str, int]:
    """Return the sizes of dimensions by name, from texts such as `batch=32`.

    Raises:
        InspectError: A text has another form, or a dimension has two sizes.
    """
    sizes: dict[str, int] = {}
    for text in split_list(texts):
        name, _, size = text.partition("=")
        if not (name.strip() and size.strip().isdecimal() and int(size)):
            message = f"--dim {text!r}: write a dimension's name with its size, which is at least 1, such as batch=32"
            raise InspectError(message)
        if sizes.setdefault(name.strip(), int(size)) != int(size):
            message = f"--dim {text}: {name.strip()} already has the size {sizes[name.strip()]}; give it one size"
            raise InspectError(message)
    return sizes


def read_flags(texts: Sequence[str]) -> dict[str, str | int | bool]:
    """Return the options in `NAME=VALUE` texts, with `true`, `false` and whole numbers converted from text.

    Raises:
        InspectError: One text has another form.
    """
    flags: dict[str, str | int | bool] = {}
    for text in texts:
        # Options that are copied from XLA_FLAGS begin with two dashes.
        name, equals, value = text.removeprefix("--").partition("=")
        if not equals or not name.isidentifier():
            message = f"--xla {text!r}: write an option of XLA with its value, such as xla_gpu_autotune_level=0"
            raise InspectError(message)
        booleans: dict[str, str | int | bool] = {"true": True, "false": False}
        flags[name] = int(value) if value.removeprefix("-").isdecimal() else booleans.get(value.lower(), value)
    return flags


def split_list(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the items of options that may repeat and may contain commas."""
    return tuple(item.strip() for text in texts for item in text.split(",") if item.strip())


def read_kinds(text: str | None, option: str = "--try", known: tuple[str, ...] = EFFECTS) -> tuple[str, ...]:
    """Return the kinds of changes to try.

    Args:
        text: Kinds separated by commas, or `all`; empty for none.
        option: The command-line option, for error messages.
        known: The kinds that exist.

    Raises:
        InspectError: There is no such kind.
    """
    kinds = split_list([text or ""])
    kinds = known if kinds == ("all",) else kinds
    if unknown := set(kinds) - {*known}:
        message = f"{option} {text}: there is no {min(unknown)!r} to try, only {', '.join(known)}, and all"
        raise InspectError(message)
    return kinds
