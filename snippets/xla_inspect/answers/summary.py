"""The targets side by side: what each compiler made of a program, in numbers, and which question to ask next."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_collectives
from xla_inspect.answers.answer import Answer, Hint, Table
from xla_inspect.report import model_launches, title
from xla_inspect.units import format_amount, format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.answers.answer import Part
    from xla_inspect.captured import Capture


@dataclass(frozen=True)
class TargetSummary:
    """What one compiler made of the program, for one device.

    Attributes:
        target: The target's short name, with its grid.
        kernels: Launches that compute, each body of a loop once.
        kinds: The kernels by kind: `kLoop`, `dot`, `custom-call`, ...
        copies: Launches that only move.
        collectives: Exchanges between devices.
        flops: Operations, those of a loop by its trips where the compiler knows them.
        moved_bytes: Bytes of main memory that launches read and write, loops likewise.
        peak_bytes: The most memory at once, by the executable.
        argument_bytes: What of it are arguments.
        temporary_bytes: What of it is neither arguments nor results.
        output_bytes: Results that are not in the place of arguments.
        compile_seconds: What the compiler took, on the machine that compiled it.
        error: What the compiler said where it gave up, or an empty string.
    """

    target: str
    kernels: int
    kinds: Mapping[str, int]
    copies: int
    collectives: int
    flops: float
    moved_bytes: int
    peak_bytes: int
    argument_bytes: int
    temporary_bytes: int
    output_bytes: int
    compile_seconds: float
    error: str


@dataclass(frozen=True)
class Summary(Answer):
    """The targets side by side.

    Attributes:
        program: The name of the program.
        asked: What was asked about, as on the command line.
        targets: One for each target.
    """

    program: str
    asked: str
    targets: tuple[TargetSummary, ...]

    @property
    def holds(self) -> bool:
        """Whether each compiler made a program of it."""
        return not any(target.error for target in self.targets)

    def tell(self) -> Iterator[Part]:
        """Yield the sentence, the table, and what to ask."""
        counted = [f"{target.kernels} kernels on {title(target.target)}" for target in self.targets if not target.error]
        failed = [f"{title(target.target)} does not compile" for target in self.targets if target.error]
        yield f"{self.program}: {', '.join((*counted, *failed))}."
        rows = [
            ("kernels", *(str(target.kernels) for target in self.targets)),
            *(
                (f"  {kind}", *(str(target.kinds.get(kind, "")) for target in self.targets))
                for kind in dict.fromkeys(kind for target in self.targets for kind in target.kinds)
            ),
            ("copies", *(str(target.copies) for target in self.targets)),
            ("collectives", *(str(target.collectives) for target in self.targets)),
            ("flops", *(format_amount(target.flops) for target in self.targets)),
            ("bytes moved", *(format_bytes(target.moved_bytes) for target in self.targets)),
            ("peak memory", *(format_bytes(target.peak_bytes) for target in self.targets)),
            ("  arguments", *(format_bytes(target.argument_bytes) for target in self.targets)),
            ("  temporaries", *(format_bytes(target.temporary_bytes) for target in self.targets)),
            ("  results", *(format_bytes(target.output_bytes) for target in self.targets)),
            ("compile, s", *(f"{target.compile_seconds:.1f}" for target in self.targets)),
        ]
        numbers = tuple(range(1, len(self.targets) + 1))
        yield Table(("per device", *(target.target for target in self.targets)), tuple(rows), numbers)
        yield Hint("What takes the memory:", f"xla-inspect memory {self.asked}")


def summarize(program: str, captures: Sequence[Capture], asked: str) -> Summary:
    """Return the summary of a program's captures.

    Args:
        program: The name of the program.
        captures: One for each target.
        asked: What was asked about, as on the command line.
    """
    return Summary(program, asked, tuple(map(_summarize, captures)))


def _summarize(capture: Capture) -> TargetSummary:
    launched = model_launches(capture) if capture.after else ()
    kernels = [each for each in launched if each.launch.role == "kernel"]
    kinds = Counter(each.launch.kind for each in kernels)
    return TargetSummary(
        target=capture.target,
        kernels=len(kernels),
        kinds=dict(kinds.most_common()),
        copies=sum(each.launch.role == "copy" for each in launched),
        collectives=len(list_collectives(capture.module)) if capture.after else 0,
        flops=sum(each.work.flops * (each.launch.runs or 1) for each in launched),
        moved_bytes=sum(each.bytes * (each.launch.runs or 1) for each in launched),
        peak_bytes=capture.memory.peak,
        argument_bytes=capture.memory.arguments,
        temporary_bytes=capture.memory.temporaries,
        output_bytes=capture.memory.outputs - capture.memory.aliased,
        compile_seconds=capture.times.compiling,
        error=capture.error,
    )
