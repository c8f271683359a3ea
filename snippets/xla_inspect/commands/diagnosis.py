"""The answer of `xla-inspect doctor`: available targets, packages to install, and version conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer, Hint, Table
from xla_inspect.plural import plural
from xla_inspect.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part


@dataclass(frozen=True)
class TargetCheck:
    """The availability of one kind of target.

    Attributes:
        targets: The short names of the targets of this kind.
        obstacle: The reason why they are unavailable and the remedy, or an empty string.
        tried: The target for which a small program was compiled, or an empty string.
        seconds: The time of this compilation on this machine.
    """

    targets: tuple[str, ...]
    obstacle: str
    tried: str
    seconds: float


@dataclass(frozen=True)
class Trouble:
    """A problem with this machine's installation or environment.

    Attributes:
        what: A description of the problem.
        remedy: The command that fixes it.
    """

    what: str
    remedy: str


@dataclass(frozen=True)
class Diagnosis(Answer):
    """The compilers, problems and cache of this machine.

    Attributes:
        versions: The installed version of each package that contains a compiler.
        targets: The availability of targets, by kind.
        troubles: The problems: first version conflicts, then environment variables, then failed compilations.
        cache: The folder of the capture cache, or an empty string if it is off.
        cache_bytes: The size of the cache.
    """

    versions: dict[str, str]
    targets: tuple[TargetCheck, ...]
    troubles: tuple[Trouble, ...]
    cache: str
    cache_bytes: int

    @property
    def holds(self) -> bool:
        """True if there are no problems. A package that is not installed is not a problem."""
        return not self.troubles

    def tell(self) -> Iterator[Part]:
        """Yield the available targets, the problems, compile times, unavailable targets, and installed versions."""
        available = [check for check in self.targets if not check.obstacle]
        names = ", ".join(name for check in available for name in check.targets) or "no target"
        problems = plural(len(self.troubles), "problem was found", "problems were found")
        yield f"This machine can compile for {names}.{f' {problems}.' if self.troubles else ''}"
        for trouble in self.troubles:
            yield Hint(f"{trouble.what}:", trouble.remedy)
        rows = [(check.tried, format_duration(check.seconds)) for check in available if check.tried]
        if rows:
            yield Table(("target", "compile time"), tuple(rows), (1,), "A small program, compiled on this machine")
        for check in self.targets:
            if check.obstacle:
                yield f"{', '.join(check.targets)} unavailable: {check.obstacle}."
        yield f"Installed: {', '.join(f'{name} {version}' for name, version in self.versions.items())}."
