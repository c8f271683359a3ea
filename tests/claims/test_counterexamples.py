"""Every check can fail: in an altered world, each check gives another verdict or stops."""

from __future__ import annotations

import importlib
import importlib.metadata
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import pytest
from jaxlib import _hlo

from claims import (
    buffers,
    evidence,
    jaxpr,
    layout,
    operations,
    running,
    simplification,
    stablehlo,
    tools,
)
from claims.declared import ClaimError, read_claims
from claims.ledger import judge_claims
from peers import records
from xla_inspect import capture_all
from xla_inspect.captured import Captures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from claims.declared import Claim

pytestmark = pytest.mark.long("each falsehood runs a page or a check")

MODULES = [
    importlib.import_module(f"claims.{name}")
    for name in dict.fromkeys(claim.check.partition(".")[0] for claim in read_claims() if claim.check)
]
USUAL = ("cpu", "h100", "tpu-v5e")


def forget() -> None:
    """Clear the caches of all functions that the checks use."""
    for module in (evidence, *MODULES):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def compile_nothing(*_: object, targets: tuple[str, ...] = USUAL, **__: object) -> Captures:
    """Return the captures of a program that does nothing, for any request."""
    return capture_all(lambda x: x, jax.ShapeDtypeStruct((3,), "int8"), targets=targets)


def compile_for_another(function: Callable[..., Any], *example: object, targets: tuple[str, ...] = USUAL) -> Captures:
    """Return the captures of a function, each under the name of another target."""
    captures = capture_all(function, *example)
    following = dict(zip(USUAL, (*USUAL[1:], USUAL[0]), strict=True))
    return Captures({target: captures[following[target]] for target in targets}, {}, targets)


@contextmanager
def nothing_reported() -> Iterator[evidence.Watched]:
    """Yield an observation without traces and compilations."""
    yield evidence.Watched()


@contextmanager
def all_reported() -> Iterator[evidence.Watched]:
    """Yield an observation of three traces and three compilations, whatever runs."""
    yield evidence.Watched(["f"] * 3, ["jit(f)"] * 3, 1e9)


class Text(str):
    """A text that stands for a parsed module."""

    __slots__ = ()
    to_string = str.__str__


def no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every program of the checks do nothing."""
    for module in (evidence, simplification):
        monkeypatch.setattr(module, "capture_all", compile_nothing)
    for module in (buffers, layout):
        monkeypatch.setattr(module, "capture", lambda *_, **__: compile_nothing()["cpu"])


def other_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each target the result of another target."""
    for module in (evidence, simplification):
        monkeypatch.setattr(module, "capture_all", compile_for_another)


def patient_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make XLA's parser accept every text."""
    monkeypatch.setattr(_hlo, "hlo_module_from_text", Text)


def strict_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make XLA's parser reject every text."""

    def refuse(_: str) -> None:
        message = "error: refused"
        raise ValueError(message)

    monkeypatch.setattr(_hlo, "hlo_module_from_text", refuse)


def silent_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make JAX report no trace and no compilation."""
    for module in (running, jaxpr, stablehlo):
        monkeypatch.setattr(module, "watched", nothing_reported)


def busy_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make JAX report three traces and three compilations of whatever runs."""
    for module in (running, jaxpr, stablehlo):
        monkeypatch.setattr(module, "watched", all_reported)


def other_opcodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the opcodes of HLO, the operations of StableHLO and the comparison of numbers."""
    other_opcodes = sorted(operations.opcodes() - {"dot"})
    ours = [*other_opcodes[: len(other_opcodes) // 3], "conv", "matmul", "reduce"]
    monkeypatch.setattr(operations, "opcodes", lambda: frozenset(ours))
    monkeypatch.setattr(operations, "is_about", lambda number, text: number != text and number < 50)
    monkeypatch.setattr(operations, "expect", lambda *_: None)
    monkeypatch.setattr(stablehlo, "operations", lambda _: frozenset({"stablehlo.erf"}))


def other_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every number count as about equal to any other."""
    monkeypatch.setattr(operations, "is_about", lambda *_: True)


def no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make no number count as about equal to any other."""
    monkeypatch.setattr(operations, "is_about", lambda *_: False)


def other_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make JAX call a function for each value of a flag, and compile it to something that is not HLO."""

    class Stage:
        def __init__(self, function: Callable[..., Any]) -> None:
            self.function = function

        def trace(self, *_: object) -> None:
            for flag in (True, False):
                self.function(1, flag)

        def lower(self, *_: object) -> Stage:
            return self

        def compile(self) -> Stage:
            return self

        def as_text(self) -> str:
            return "kernel"

    monkeypatch.setattr(jax, "jit", lambda function, **_: Stage(function))


def other_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make JAX lower to other text, and change its functions and the installed packages."""

    class Stage:
        def as_text(self, dialect: str = "", **_: object) -> str:
            return f"HloModule m, {dialect} stablehlo.logistic batch_norm sdy.mesh mhlo.sharding"

        def compile(self, *_: object) -> Stage:
            return self

        def compiler_ir(self) -> str:
            return "HloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}"

        def cost_analysis(self) -> list[dict[str, float]]:
            return [{"flops": 1.0, "fusions": 1.0}]

        def lower(self, *_: object, **__: object) -> Stage:
            return self

        trace = lower
        __call__ = lower

    monkeypatch.setattr(jax, "jit", lambda *_, **__: Stage())
    monkeypatch.setattr(jax, "xla_computation", print, raising=False)
    monkeypatch.setattr(jax, "pmap", print)
    monkeypatch.setattr(jax, "make_jaxpr", lambda *_: lambda *_: "let\n    b:f32[10] = mul a 2.0")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: True)
    monkeypatch.setattr(tools, "run_python", lambda *_, **__: "0\nfiles: 0")
    monkeypatch.setattr(tools, "_files", lambda **_: ("module_0001.before_optimizations.txt", "m.metadata.textproto"))
    monkeypatch.setattr(tools.subprocess, "run", lambda *_, **__: type("Done", (), {"stdout": "--xla_dump_to=x"}))
    monkeypatch.setattr(stablehlo, "LISTING", "module {")
    monkeypatch.setattr(stablehlo.stablehlo, "get_current_version", lambda: "2.0.0")
    monkeypatch.setattr(stablehlo.portable, "portable", lambda *_: "")


def other_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the records show that frameworks run each program without XLA, as one kernel, and reject no program."""
    record = records.read("tensorflow")
    alone = {"launches": [], "operations": ["Relu"]}
    facts = {name: dict.fromkeys(record.facts[name], alone) for name in ("jit", "auto")}
    facts["eager"] = {"layer": ["layer"]}
    other = replace(record, facts={**record.facts, **facts}, texts=dict.fromkeys(record.texts, ""))
    monkeypatch.setattr(records, "read", lambda _: other)


WORLDS = (
    no_program,
    other_target,
    patient_parser,
    strict_parser,
    silent_jax,
    busy_jax,
    other_opcodes,
    other_numbers,
    no_numbers,
    other_text,
    other_tracer,
    other_records,
)


def survivors(claims: list[Claim], change: Callable[[pytest.MonkeyPatch], None]) -> list[Claim]:
    """Return the claims whose declared verdict still holds after a change of the world."""
    same = []
    with pytest.MonkeyPatch.context() as monkeypatch:
        change(monkeypatch)
        forget()
        for claim in claims:
            try:
                judge_claims([claim])
            except ClaimError:
                continue
            same.append(claim)
    forget()
    return same


def test_every_check_fails_in_an_altered_world(all_targets: None) -> None:
    del all_targets
    surviving = [claim for claim in read_claims() if claim.check]
    for world in WORLDS:
        surviving = survivors(surviving, world)
    assert "\n".join(f"{claim.id} {claim.check}" for claim in surviving) == ""
