"""A simulated Python prompt, which runs the lines that it shows."""

from __future__ import annotations

import code
import contextlib
import io
import sys
import textwrap
from typing import Any


class Prompt:
    """A prompt that remembers the defined names.

    Args:
        names: The names that are defined from the start, such as imported modules.
    """

    def __init__(self, **names: Any) -> None:  # noqa: ANN401 - whatever the lines use
        """Start with these names."""
        self._console = _Console(names)

    def type(self, source: str) -> str:
        """Run lines, and return the text of a session: prompts, lines, and their output.

        Of an error, only the last line of the traceback is shown, without its further explanation.

        Args:
            source: The lines; a block ends with its indentation, as in a file.
        """
        screen = []
        lines = textwrap.dedent(source).strip("\n").splitlines()
        for number, line in enumerate(lines):
            following = lines[number + 1] if number + 1 < len(lines) else ""
            screen.append(f"{'...' if self._console.buffer else '>>>'} {line}".rstrip())
            output = self._push(line)
            # A closing bracket at the start of a line continues the block above it.
            if self._console.buffer and not following.startswith((" ", ")", "]", "}")):
                # At an interactive prompt, an empty line ends a block.
                output += self._push("")
            screen += output.rstrip("\n").splitlines()
        return "\n".join(screen)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - whatever the lines made
        """Return the value of a name."""
        return self._console.locals[name]

    def _push(self, line: str) -> str:
        out, hook = io.StringIO(), sys.displayhook
        # IPython installs its own hook, which would print values in another form.
        sys.displayhook = sys.__displayhook__
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                self._console.push(line)
        finally:
            sys.displayhook = hook
        return out.getvalue()


class _Console(code.InteractiveConsole):
    def showtraceback(self) -> None:
        """Write the type of the error and the first line of its message, without stack frames.

        Raises:
            KeyboardInterrupt: The reader interrupted the command, which is not an error in the line.
        """
        error = sys.exception()
        if isinstance(error, KeyboardInterrupt):
            raise error
        # JAX appends long explanations and links to its messages, which would hide the session.
        first = str(error).strip().split("\n")[0]
        self.write(f"{type(error).__name__}: {first}\n")
