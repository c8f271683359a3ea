"""The process in which a command runs the user's file. It writes its exit status, and its stacks if it crashes."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from xla_inspect.commands import command_line, time_limit
from xla_inspect.commands.child_process import ENVIRONMENT, STACKS, STATUS
from xla_inspect.commands.user_code import LeftError
from xla_inspect.targets import note_changes


def main() -> None:
    """Run the command that follows a folder in `sys.argv`, write its exit status to this folder, and end Python."""
    folder, *arguments = sys.argv[1:]
    note_changes(json.loads((Path(folder) / ENVIRONMENT).read_text(encoding="utf-8")))
    leave = os._exit

    def raise_instead(code: int) -> NoReturn:
        raise LeftError(code)

    os._exit = raise_instead  # type: ignore[assignment]  # it must not end Python before the status is written
    # The output of the user's code and of compilers goes to standard error, since it is not part of the answer.
    with (
        os.fdopen(os.dup(1), "w", encoding="utf-8") as out,
        (Path(folder) / STACKS).open("w", encoding="utf-8") as stacks,
    ):
        os.dup2(2, 1)
        # The parent process reads these stacks to report the user's line at which a crash happened.
        faulthandler.enable(stacks)

        def end(status: int) -> NoReturn:
            # The reader of a pipe may be gone, which must not prevent the status from being written.
            with suppress(OSError):
                out.flush()
                sys.stdout.flush()
                sys.stderr.flush()
            # The parent process reads a missing status as a crash, so the status is written last.
            (Path(folder) / STATUS).write_text(str(status), encoding="utf-8")
            # The file may have started threads that never end, or registered exit handlers.
            leave(status)

        time_limit.end_process, time_limit.stacks = end, stacks
        end(command_line.run_here(arguments, out))
