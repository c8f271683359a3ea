"""Python as it is typed at the prompt: what is shown is what was run."""

from __future__ import annotations

import code
import contextlib
import io
import sys
import textwrap
from typing import Any


class Prompt:
    """A prompt that remembers names.

    Args:
        names: Names that are there from the start, such as imported modules.
    """

    def __init__(self, **names: Any) -> None:  # noqa: ANN401 - whatever the lines use
        """Start with these names."""
        self._console = _Console(names)

    def type(self, source: str) -> str:
        """Return what the screen shows when lines are typed: prompts, lines, and what they print.

        An error shows as the last line of its traceback, cut to its first sentence's line.

        Args:
            source: The lines; a block ends where the indentation does, as in a file.
        """
        screen = []
        lines = textwrap.dedent(source).strip("\n").splitlines()
        for number, line in enumerate(lines):
            following = lines[number + 1] if number + 1 < len(lines) else ""
            screen.append(f"{'...' if self._console.buffer else '>>>'} {line}".rstrip())
            output = self._push(line)
            if self._console.buffer and not following.startswith((" ", ")", "]", "}")):
                # A block at the prompt ends with an empty line.
                output += self._push("")
            screen += output.rstrip("\n").splitlines()
        return "\n".join(screen)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - whatever the lines made
        """Return what a name stands for."""
        return self._console.locals[name]

    def _push(self, line: str) -> str:
        out, hook = io.StringIO(), sys.displayhook
        sys.displayhook = sys.__displayhook__
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                self._console.push(line)
        finally:
            sys.displayhook = hook
        return out.getvalue()


class _Console(code.InteractiveConsole):
    def showtraceback(self) -> None:
        """Write what went wrong, without the frames, and without what follows a first long explanation.

        Raises:
            KeyboardInterrupt: The reader asked for an end, which is no error of the line.
        """
        error = sys.exception()
        if isinstance(error, KeyboardInterrupt):
            raise error
        first = str(error).strip().split("\n")[0]
        self.write(f"{type(error).__name__}: {first}\n")
