"""Functions that compile the gallery's programs, list differences between generations, and show each program."""

from __future__ import annotations

import inspect
from itertools import pairwise
from typing import TYPE_CHECKING

from chapters import gallery_matrix
from programs.gallery import GALLERY_TARGETS, PROGRAMS
from xla_inspect import Captures, TargetUnavailableError, available, capture_all
from xla_inspect.report import chart_instructions, markdown
from xla_inspect.report.explorer import embed_explorer
from xla_inspect.targets import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chapters import GenerationStep
    from xla_inspect import Capture

    type Shown = Mapping[str, tuple[str, Captures]]

_USUAL = ("cpu", "h100", "tpu-v5e")


def compile_programs() -> dict[str, tuple[str, Captures]]:
    """Compile each program of the gallery for its targets; return its title and its captures by name.

    Raises:
        TargetUnavailableError: This machine cannot compile for the targets of a maker with several of them, and the
            page is about the steps between these.
    """
    for target in (target for family in FAMILIES for target in family if len(set(family) & set(GALLERY_TARGETS)) > 1):
        if reason := available()[target]:
            raise TargetUnavailableError(target, reason)
    return {
        name: (
            piece.title,
            capture_all(piece.function, *piece.example, targets=piece.name_targets(), **piece.arguments),
        )
        for name, piece in PROGRAMS.items()
    }


def list_steps(programs: Shown) -> dict[str, dict[str, GenerationStep]]:
    """Return the differences in each program between a target and its previous generation, by newer target and name."""
    return {
        new: gallery_matrix.list_generation_steps(programs, old, new)
        for family in FAMILIES
        for old, new in pairwise(family)
    }


def list_changed(captures: Mapping[str, Mapping[str, Capture]], name: str) -> set[tuple[str, str]]:
    """Return a pair (program, target) for each program that the pass `name` changed."""
    return {
        (program, target)
        for program, by_target in captures.items()
        for target, it in by_target.items()
        if name in it.pass_names
    }


def name_programs(names: Iterable[str], *, linked: bool = True) -> str:
    """Return the titles of programs as Markdown, separated by commas, with links to sections if `linked`; or `none`."""
    titles = (f"[{PROGRAMS[name].title}](#{name})" if linked else PROGRAMS[name].title for name in names)
    return ", ".join(titles) or "none"


def show_program(programs: Shown, name: str) -> str:
    """Return the section of a program as Markdown: its description, launches, chart, source and explorer."""
    captures, function = programs[name][1], PROGRAMS[name].function
    target = next((target for target in captures if target.startswith("h100")), next(iter(captures)))
    usual = tuple(target for target in captures if target.partition(":")[0] in _USUAL)
    whole = captures[target].source
    # A file with `PROGRAMS` contains many programs, so only the source of this function is shown.
    text = inspect.getsource(function) if "PROGRAMS" in whole else whole
    parts = (
        f"{(inspect.getdoc(function) or '').replace('\n', ' ')} \n",
        markdown.fold("Kernels, collectives and copies by target", gallery_matrix.show_launch_kinds(captures)),
        chart_instructions(Captures(captures, {}, usual)),
        markdown.fold("The program", markdown.fence(text, "python", title=captures[target].source_file)),
        embed_explorer(captures, name, times="docs/data/kernel-times.json", target=target),
    )
    return "\n".join(parts)
