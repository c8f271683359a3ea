"""The capture of one program for one target: from the cache, or from a new run of the compiler."""

from __future__ import annotations

import logging
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

import jax

from xla_inspect.compilation import capture_cache, dump_compile, lowering, program_stages, without_device
from xla_inspect.errors import TargetUnavailableError
from xla_inspect.targets import settle
from xla_inspect.terminal import cut_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.compilation.program_stages import Lowered
    from xla_inspect.targets import Target


log = logging.getLogger("xla_inspect")


def capture_program(  # noqa: PLR0913 - what is compiled for what, and how much of it is kept
    program: lowering.Program,
    target: Target,
    options: Mapping[str, str | int | bool],
    *,
    passes: bool = True,
    timed: bool = True,
    reasons: bool = False,
    machine: bool = False,
    code: bool = True,
) -> Callable[[], Capture]:
    """Compile one program for one target unless it is cached, and return a function that builds its capture.

    The returned function needs none of JAX's settings, so it may run in another thread during the next compile.

    Raises:
        TargetUnavailableError: This machine cannot compile for the target.
        InspectError: The compiler does not know an option, or (when the capture is built) wrote no dump.
    """
    if target.obstacle:
        raise TargetUnavailableError(target.name, target.obstacle)
    settle()
    settings = {**dump_compile.pin_options(target), **options}
    with lowering.held_settings(program.project):
        lowered = lowering.lower(program, target)
        settings = without_device.adapt_options(target, lowered.stablehlo, settings)
        log = low_level = None
        with ExitStack() as beside:
            # Second compiles need modules that the first one does not.
            if reasons:
                from xla_inspect.compilation import logged_compile

                log = beside.enter_context(logged_compile.overheard(lowered, target, settings))
            if machine and target.kind == "tpu":
                from xla_inspect.compilation import llo_dumps

                low_level = beside.enter_context(llo_dumps.dumped(lowered, target, settings))
            parts = {"passes": passes, "timed": timed or passes or target.kind == "tpu", "code": code or passes}
            build = find_capture(program, lowered, target, settings, **parts)

    def name() -> Capture:
        capture = build()
        # What the key leaves out: a file may have changed where the program in it did not.
        return capture.retold(
            program=program.name,
            **program.describe_sources(capture),
            **({"log": log.result()} if log else {}),
            **({"low_level": low_level.result()} if low_level else {}),
        )

    return name


def find_capture(  # noqa: PLR0913 - what is compiled for what, and how much of it is kept
    program: lowering.Program,
    lowered: Lowered,
    target: Target,
    options: Mapping[str, str | int | bool],
    *,
    passes: bool,
    timed: bool,
    code: bool,
) -> Callable[[], Capture]:
    """Return a function that gives the capture of a program, from the cache or from a new compile that it caches."""
    request = (passes, timed, code)
    # A cached capture with more parts (passes, their times, the code) answers the request too.
    fuller = [(passes, timed, True), *((stepped, True, True) for stepped in (False, True) if stepped >= passes)]
    keys = [
        capture_cache.make_key(lowered, target, options, passes=one, timed=other, code=third)
        for one, other, third in dict.fromkeys((request, *fuller))
    ]
    key = keys[0]
    for candidate in keys:
        if cached := recall(candidate, program):
            return cached
    # A cached program needs none of the modules that run a compiler and read its dumps.
    from xla_inspect.compilation import compiler_run

    with ExitStack() as unless_compiled:
        claimed = unless_compiled.enter_context(capture_cache.claim(key))
        # Another process may have compiled the program while this one waited for the claim.
        if claimed.waited and (cached := recall(key, program)):
            return cached
        log.info("compiling %s for %s", cut_names(program.name), target.name)
        parts = {"passes": passes, "timed": timed, "code": code}
        try:
            build = compiler_run.compile_lowered(program, lowered, target, options, **parts)
        except RuntimeError as error:
            if failed := find_memory_failure(error):
                capture_cache.store(key, failed)
            raise
        # The claim is released only after the capture is stored, unless the compile failed.
        unless_compiled.pop_all()

    def keep() -> Capture:
        with claimed:
            capture = build().retold(identity=key)
            capture_cache.store(key, capture)
        return capture

    return keep


def recall(key: str, program: lowering.Program) -> Callable[[], Capture] | None:
    """Return a function that gives the capture cached under a key, or None if the key is not cached.

    Raises:
        jax.errors.JaxRuntimeError: The capture is that of a compile that ran out of the target's memory.
    """
    capture = capture_cache.load_cached(key)
    if capture and capture.error:
        error = jax.errors.JaxRuntimeError(capture.error)
        program_stages.add_partial_capture(error, capture, program)
        raise error
    return None if capture is None else lambda: capture


def find_memory_failure(error: RuntimeError) -> Capture | None:
    """Return the capture of a compile that ran out of the target's memory, or None for any other error.

    Such a compile fails each time, while other errors can come from this machine.
    """
    failed: Capture | None = getattr(error, "capture", None)
    return failed if failed and re.search("Ran out of memory (?:on|in memory space)", failed.error) else None
