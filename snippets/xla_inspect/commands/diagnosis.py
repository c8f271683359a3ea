"""What this machine can compile for, what to install for the rest, and what of its JAX does not go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.answers import Answer, Hint, Table
from xla_inspect.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.answers import Part


@dataclass(frozen=True)
class TargetCheck:
    """Whether one kind of target can be compiled for.

    Attributes:
        targets: The short names, which are alike in this.
        obstacle: Why not, and what to do about it, or an empty string.
        tried: The target that a small program was compiled for, or an empty string.
        seconds: How long that took here.
    """

    targets: tuple[str, ...]
    obstacle: str
    tried: str
    seconds: float


@dataclass(frozen=True)
class Trouble:
    """Something that is wrong here.

    Attributes:
        what: What it is.
        remedy: What to do about it.
    """

    what: str
    remedy: str


@dataclass(frozen=True)
class Diagnosis(Answer):
    """What this machine can compile for.

    Attributes:
        versions: Package to installed version, of those that compile.
        targets: What can be compiled for, by kind.
        troubles: What is wrong, the worst first.
        cache: The folder of the capture cache, or an empty string where it is off.
        cache_bytes: What lies in it.
    """

    versions: dict[str, str]
    targets: tuple[TargetCheck, ...]
    troubles: tuple[Trouble, ...]
    cache: str
    cache_bytes: int

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong; what is not installed is no trouble."""
        return not self.troubles

    def tell(self) -> Iterator[Part]:
        """Yield what there is, what is wrong, and what to install."""
        there = [check for check in self.targets if not check.obstacle]
        names = ", ".join(name for check in there for name in check.targets) or "nothing"
        wrong = f" {len(self.troubles)} things are wrong." if len(self.troubles) > 1 else " One thing is wrong."
        yield f"This machine can compile for {names}.{wrong if self.troubles else ''}"
        for trouble in self.troubles:
            yield Hint(f"{trouble.what}:", trouble.remedy)
        rows = [
            (check.tried, format_duration(check.seconds), "a small program, compiled on this machine")
            for check in there
            if check.tried
        ]
        if rows:
            yield Table(("target", "took", "what"), tuple(rows), (1,))
        for check in self.targets:
            if check.obstacle:
                yield f"For {', '.join(check.targets)}: {check.obstacle}."
        yield f"Installed: {', '.join(f'{name} {version}' for name, version in self.versions.items())}."
