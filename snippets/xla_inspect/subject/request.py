"""What a command line asks about: the subject as it is written there, and how it is to be called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KINDS = ("donate", "remat", "batch", "vmem", "schedule")
"""The kinds of changes that may save memory, or let a program have more of it."""

EFFECTS = ("donate", "pass", "barrier", "layout", "batch", "precision", "sharding", "option", "target")
"""The kinds of changes that may change what the compiler does to a part of a program."""


@dataclass(frozen=True)
class Request:
    """What is asked about.

    Attributes:
        words: The subject: `FILE.py:FUNCTION`, `package.module:FUNCTION`, a saved capture, or `run` and a script with
            its arguments.
        args: The shapes of positional arguments as text, or an empty string.
        args_from: The function that makes the arguments, as `FILE.py:FUNCTION`, or an empty string.
        mesh: Axis names to sizes.
        donate: Numbers or names of arguments.
        static: Numbers or names of arguments.
        grad: Whether the gradient is asked about, by the first argument.
        vmap: How many examples a batch has that is mapped over, or none for no batch.
        only: Which function of a script.
        xla: Options of XLA, name to value.
        whole: Whether all of a script is asked about, and none of its functions.
        devices: How many devices the target that was asked for has: as many a script finds.
    """

    words: tuple[str, ...]
    args: str = ""
    args_from: str = ""
    mesh: Mapping[str, int] = field(default_factory=dict)
    donate: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    grad: bool = False
    vmap: int = 0
    only: str = ""
    xla: Mapping[str, str | int | bool] = field(default_factory=dict)
    whole: bool = False
    devices: int = 1

    @property
    def is_script(self) -> bool:
        """Whether a script is run."""
        return self.words[0] == "run"

    @property
    def jit_options(self) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
        """The options of `jax.jit` that say what is donated and static."""
        return {**name_arguments("donate", self.donate), **name_arguments("static", self.static)}

    @property
    def file(self) -> str:
        """The reader's file or module, as it was named."""
        if self.is_script:
            return next((word for word in self.words[1:] if word != "-m"), "")
        return self.words[0].rpartition(":")[0] or self.words[0]


def name_arguments(option: str, arguments: Iterable[int | str]) -> dict[str, tuple[int, ...] | tuple[str, ...]]:
    """Return the options of `jax.jit` that name arguments: numbers, as text too, and names."""
    texts = tuple(map(str, arguments))
    numbers = tuple(int(text) for text in texts if text.lstrip("-").isdecimal())
    names = tuple(text for text in texts if not text.lstrip("-").isdecimal())
    return ({f"{option}_argnums": numbers} if numbers else {}) | ({f"{option}_argnames": names} if names else {})


def read_mesh(text: str) -> dict[str, int]:
    """Return the axes of `data=4,fsdp=64`.

    Raises:
        InspectError: It is of another form.
    """
    axes: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, size = part.partition("=")
        if not (name.strip().isidentifier() and size.strip().isdecimal() and int(size)):
            message = f"--mesh {text!r}: write the axes with their sizes, such as data=4,fsdp=64"
            raise InspectError(message)
        axes[name.strip()] = int(size)
    return axes


def read_flags(texts: Sequence[str]) -> dict[str, str | int | bool]:
    """Return the options of `NAME=VALUE` each; `true`, `false` and whole numbers are told from text.

    Raises:
        InspectError: One is of another form.
    """
    flags: dict[str, str | int | bool] = {}
    for text in texts:
        name, equals, value = text.removeprefix("--").partition("=")
        if not equals or not name.isidentifier():
            message = f"--xla {text!r}: write an option of XLA with its value, such as xla_gpu_autotune_level=0"
            raise InspectError(message)
        known: dict[str, str | int | bool] = {"true": True, "false": False}
        flags[name] = int(value) if value.removeprefix("-").isdecimal() else known.get(value.lower(), value)
    return flags


def split_list(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the items of options that repeat or hold commas."""
    return tuple(item.strip() for text in texts for item in text.split(",") if item.strip())


def read_kinds(text: str | None, option: str = "--try", known: tuple[str, ...] = EFFECTS) -> tuple[str, ...]:
    """Return the kinds of changes that are to be tried.

    Args:
        text: Kinds with commas between them, or `all`; empty for none.
        option: The option that they were given with.
        known: The kinds that there are.

    Raises:
        InspectError: There is no such kind.
    """
    kinds = split_list([text or ""])
    kinds = known if kinds == ("all",) else kinds
    if unknown := set(kinds) - {*known}:
        message = f"{option} {text}: there is no {min(unknown)!r} to try, only {', '.join(known)}, and all"
        raise InspectError(message)
    return kinds
