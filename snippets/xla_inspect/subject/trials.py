"""Changes to a program that can be tried at trace time or compile time, without editing its code."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping  # noqa: TC003
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import SCHEDULER, find_refusal
from xla_inspect.analysis.reasons import read_reasons
from xla_inspect.compilation import pin_options
from xla_inspect.subject import argument_changes, traced_changes
from xla_inspect.subject.probing import probe
from xla_inspect.subject.stablehlo_subject import StablehloSubject
from xla_inspect.subject.subject import Subject
from xla_inspect.targets import USUAL, available, find_target
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Frame
    from xla_inspect.subject.subject import Call

NEEDED = re.compile("^import$|copy-insertion|layout-assignment|partition|shardy|copies")
"""A pattern for the names of passes that are never disabled, since programs need them to be correct or executable."""

SIZES = (0.5, 4, 16)
"""Factors for the batch size in questions about a part of a program, in addition to batches of 1 and 8."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("xla_cpu_copy_insertion_use_region_analysis=true", "xla_cpu_use_fusion_emitters=false"),
    "gpu": ("xla_gpu_enable_triton_gemm=false",),
}
"""XLA options that affect frequently asked questions, by kind of target."""

RISKY = frozenset({"layout", "option", "pass", "sharding"})
"""Kinds of changes that may crash the compiler, so they are first compiled in a separate process."""

DISABLE = "xla_disable_hlo_passes"
MOST = 3
"""The maximum number of functions around which `jax.checkpoint` is tried, one at a time."""

_ORDER = re.compile(r"\{([\d,]+)")


_OF_PYTHON = ("remat", "batch", "barrier", "precision")
"""Kinds of changes to the tracing of a Python function, which a StableHLO program does not have."""


def choose_kinds(subject: Subject, kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of changes that are possible for a subject, and report the kinds that need a Python function."""
    skipped = [kind for kind in kinds if isinstance(subject, StablehloSubject) and kind in _OF_PYTHON]
    if skipped:
        print_note(f"these changes need the Python function, so they are not tried: {', '.join(skipped)}")
    return tuple(kind for kind in kinds if kind not in skipped)


@dataclass(frozen=True)
class Trial:
    """A change that can be tried.

    Attributes:
        change: The change in words.
        subject: The program with the change.
        applied: A function that returns a context manager to enter while the program is traced.
        kind: The kind of change.
        options: Additional options of XLA.
        target: The target to compile for, or an empty string for the requested target.
    """

    change: str
    subject: Subject
    applied: Callable[[], AbstractContextManager[object]] = nullcontext
    kind: str = ""
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    target: str = ""

    def capture(self, target: str) -> Capture:
        """Compile the changed program, and return its capture without passes.

        A change of a kind in `RISKY` is compiled in a separate process first, since it may crash the compiler.

        Args:
            target: The requested target.

        Raises:
            TargetUnavailableError: This machine cannot compile for the target.
            InspectError: The change does not fit the program, or the compiler crashes because of it.
        """
        with self.applied():
            # A crash of the compiler ends its process, so such a change is compiled in another process first.
            if self.kind in RISKY:
                options = {**self.subject.options, **self.options}
                probe(self.subject.program(), self.subject.name_target(self.target or target), options)
            settings: dict[str, Any] = {"options": self.options} if self.options else {}
            return self.subject.capture(self.target or target, **settings)


def list_trials(
    subject: Subject, kinds: Iterable[str], capture: Capture, *, passes: Iterable[str] = (), asked: bool = False
) -> Iterator[Trial]:
    """Yield the changes that are possible for a program.

    Args:
        subject: The program.
        kinds: The kinds to list, from `KINDS` and `EFFECTS`.
        capture: The program's capture; the values that it saves for the backward pass select functions to checkpoint.
        passes: Passes that can be disabled.
        asked: Whether the question is about a part of the program. Then more batch sizes are listed, and the call
            without its donations.
    """
    if subject.call is None:
        return
    call = subject.call
    listed: Mapping[str, Callable[[], Iterable[Trial | argument_changes.Changed]]] = {
        "donate": lambda: argument_changes.list_donations(subject, call, undone=asked),
        "remat": lambda: _list_remats(subject, call, capture),
        "batch": lambda: argument_changes.list_sizes(call, SIZES) if asked else argument_changes.list_batches(call),
        "vmem": lambda: _list_limits(subject, capture),
        "schedule": lambda: _list_schedulers(subject, capture),
        "pass": lambda: _list_passes(subject, capture, passes),
        "barrier": lambda: _list_barriers(subject, capture),
        "layout": lambda: argument_changes.list_layouts(call, _find_wanted(call, capture)),
        "precision": lambda: chain(argument_changes.list_types(call), _list_precisions(subject, capture)),
        "sharding": lambda: chain(argument_changes.list_shardings(call), _list_unconstrained(subject, capture)),
        "option": lambda: _list_options(subject, capture),
        "target": lambda: _list_targets(subject, capture),
    }
    chosen = {*kinds}
    for kind in filter(chosen.__contains__, listed):
        for change in listed[kind]():
            trial = change if isinstance(change, Trial) else Trial(change[0], renew(subject, change[1]))
            yield replace(trial, kind=kind)


def _find_wanted(call: Call, capture: Capture) -> Mapping[int, Collection[tuple[int, ...]]]:
    """Return by argument number the dimension orders, most major first, that the compiler's log shows it to prefer."""
    entry = capture.unoptimized_module.entry
    # An argument that is a pytree becomes several parameters, so their numbers are not those of the arguments.
    if len(entry.parameters) != len(call.args):
        return {}
    numbers = {parameter.name: parameter.parameter_number for parameter in entry.parameters}
    orders: dict[int, list[tuple[int, ...]]] = {}
    for decision in read_reasons(capture).of("layout"):
        number, order = numbers.get(decision.instruction), _ORDER.search(decision.words)
        if decision.kind == "copied-for-layout" and number is not None and order:
            # XLA prints the most minor dimension first.
            orders.setdefault(number, []).append(tuple(map(int, reversed(order[1].split(",")))))
    return orders


def _list_options(subject: Subject, capture: Capture) -> Iterator[Trial]:
    for option in OPTIONS.get(find_target(capture.target).kind, ()):
        name, _, value = option.partition("=")
        # An option that the user has set stays as it is.
        if name not in capture.options:
            options = {name: {"true": True, "false": False}.get(value, value)}
            yield Trial(f"--xla {option}", subject, options=options)


def _list_limits(subject: Subject, capture: Capture) -> Iterator[Trial]:
    """Yield a trial with the VMEM limit that the program needs if a TPU's compiler ran out of VMEM; else nothing."""
    refusal = find_refusal(capture)
    for name, kib in (refusal.vmem_options if refusal else {}).items():
        change = f"a limit of {kib >> 10} MiB of VMEM (--xla {name}={kib})"
        yield Trial(change, subject, options={name: kib})


def _list_schedulers(subject: Subject, capture: Capture) -> Iterator[Trial]:
    """Yield a trial of the option that schedules for low memory use, which XLA has only for the CPU."""
    if find_target(capture.target).kind == "cpu" and SCHEDULER[0] not in capture.options:
        change = f"the order of instructions that needs least memory (--xla {'='.join(SCHEDULER)})"
        yield Trial(change, subject, options=dict([SCHEDULER]))


def _list_passes(subject: Subject, capture: Capture, passes: Iterable[str]) -> Iterator[Trial]:
    for name in dict.fromkeys(passes):
        if name and not NEEDED.search(name):
            # Passes that the capture itself or the user disabled must stay disabled.
            disabled = (pin_options(find_target(capture.target)).get(DISABLE), subject.options.get(DISABLE), name)
            options = {DISABLE: ",".join(str(name_part) for name_part in disabled if name_part)}
            yield Trial(f"without the pass {name}", subject, options=options)


def _list_barriers(subject: Subject, capture: Capture) -> Iterator[Trial]:
    if "optimization_barrier" in capture.stablehlo:
        yield Trial("without optimization_barrier", renew(subject), traced_changes.without_barriers)


def _list_precisions(subject: Subject, capture: Capture) -> Iterator[Trial]:
    if "dot_general" in capture.stablehlo:
        for precision in ("highest", "bfloat16"):
            change = f"matmul precision {precision!r}"
            yield Trial(change, renew(subject), traced_changes.at_precision(precision))


def _list_unconstrained(subject: Subject, capture: Capture) -> Iterator[Trial]:
    if "sharding_constraint" in capture.jaxpr:
        yield Trial("without with_sharding_constraint", renew(subject), traced_changes.without_constraints)


def _list_targets(subject: Subject, capture: Capture) -> Iterator[Trial]:
    base = capture.target.partition(":")[0]
    reasons = available()
    for target in USUAL:
        # A target without a reason against it is available.
        if target != base and not reasons[target]:
            yield Trial(f"for {target}", subject, target=subject.name_target(target))


def _list_remats(subject: Subject, call: Call, capture: Capture) -> Iterator[Trial]:
    """Yield trials of `jax.checkpoint`: around all scan bodies, and around each of the functions that save the most."""
    if "scan" in capture.jaxpr:
        change = "jax.checkpoint around the body of each jax.lax.scan"
        yield Trial(change, renew(subject), traced_changes.checkpoint_scans)
    names: set[str] = set()
    for frames in _list_chains(capture.own):
        for frame in frames:
            name = frame.function.rpartition(".")[2]
            function = _find_function(name, frame)
            # The function itself is not checkpointed: that would recompute the whole program.
            if function is None or name in names or function is inspect.unwrap(call.function):
                continue
            names.add(name)
            change = f"jax.checkpoint around {name} ({frame.file.rpartition('/')[2]})"
            yield Trial(change, renew(subject), traced_changes.checkpoint(function))
            if len(names) == MOST:
                return


def _list_chains(capture: Capture) -> Iterator[tuple[Frame, ...]]:
    """Yield the call chains, in the user's files, of the values saved for the backward pass, largest first."""
    from xla_inspect.analysis import list_held

    for value in list_held(capture):
        if value.role == "saved" and value.maker is not None:
            chain = capture.frames.get(value.maker.instruction.stack_frame or 0, ())
            yield tuple(frame for frame in chain if frame.file in capture.sources)


def _find_function(name: str, frame: Frame) -> Any:
    """Return the module-level function with a name in the loaded module of a frame's file, or None."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        # Frames have relative file names, and the slash keeps `model.py` from matching `my_model.py`.
        if file and f"/{Path(file).as_posix()}".endswith(f"/{frame.file}"):
            candidate = vars(module).get(name)
            if inspect.isfunction(candidate):
                return candidate
    return None


def renew(subject: Subject, call: Call | None = None) -> Subject:
    """Return a subject with another call, or with the same one to trace it again."""
    return Subject(subject.name, call or subject.call, options=subject.options, lines_of=subject.lines_of)
