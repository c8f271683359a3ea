"""Progress messages, which disappear in a terminal."""

from __future__ import annotations

import io
import logging

import pytest
from screens import Terminal

from xla_inspect.practice import progress


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["pipe", "dumb terminal"])
def test_without_a_terminal_each_message_is_a_line(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with progress.doing("starting JAX", stream):
        pass
    with progress.compiling(stream):
        logging.getLogger("xla_inspect").info("compiling %s for %s", "mlp", "cpu")
    assert stream.getvalue() == "starting JAX ...\ncompiling mlp for cpu ...\n"


def test_the_line_disappears_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress.doing("starting JAX", stream):
        assert stream.getvalue() == "\r\x1b[Kstarting JAX ..."
    assert stream.getvalue().endswith("\r\x1b[K")
    stream = Terminal()
    with progress.compiling(stream):
        logging.getLogger("xla_inspect").info("compiling mlp for cpu")
    assert stream.getvalue() == "\r\x1b[Kcompiling mlp for cpu ...\r\x1b[K"


def test_without_a_compilation_nothing_is_printed_and_the_logger_is_unchanged() -> None:
    logger = logging.getLogger("xla_inspect")
    before = logger.level, list(logger.handlers)
    stream = Terminal()
    with progress.compiling(stream):
        pass
    assert stream.getvalue() == ""
    assert (logger.level, list(logger.handlers)) == before
