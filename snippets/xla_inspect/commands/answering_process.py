"""The process in which a command runs the reader's file: it leaves its status, and its stacks where it crashes."""

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
    """Run the command that the words after a folder's name give, and leave its status there."""
    folder, *arguments = sys.argv[1:]
    note_changes(json.loads((Path(folder) / ENVIRONMENT).read_text(encoding="utf-8")))
    leave = os._exit

    def raise_instead(code: int) -> NoReturn:
        raise LeftError(code)

    os._exit = raise_instead  # type: ignore[assignment]  # it does not end Python, which is the point
    # What the reader's code prints, and what compilers do, is no part of the answer.
    with (
        os.fdopen(os.dup(1), "w", encoding="utf-8") as out,
        (Path(folder) / STACKS).open("w", encoding="utf-8") as stacks,
    ):
        os.dup2(2, 1)
        faulthandler.enable(stacks)

        def end(status: int) -> NoReturn:
            with suppress(OSError):
                out.flush()
                sys.stdout.flush()
                sys.stderr.flush()
            (Path(folder) / STATUS).write_text(str(status), encoding="utf-8")
            # The file may have started threads that never end, or asked for more at exit.
            leave(status)

        time_limit.end_process, time_limit.stacks = end, stacks
        end(command_line.run_here(arguments, out))
