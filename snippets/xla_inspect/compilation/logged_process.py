"""The process for second compiles with the compilers' verbose logs on, whose levels are read once at load time.

The process reads one request per line from standard input, and answers each on standard output with the JSON line
`{"error": MESSAGE}`, whose message is empty if the compile succeeded. The log goes to standard error, where a mark line
follows each compile.
"""

from __future__ import annotations

import base64
import json
import os
import sys

ONE_THREAD = "--one-thread"
"""The word on the command line that holds the process to one processor, so that the compiler starts one thread."""


def main() -> None:
    """Compile the program of each line of standard input until it ends, and print `{"error": MESSAGE}` for each."""
    if ONE_THREAD in sys.argv:
        # The compilers count the processors when they start, so this comes before they are loaded.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    # The compilers may print to standard output, so their output is redirected to the log.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    from xla_inspect import jax_private, targets
    from xla_inspect.compilation.without_device import stand_ins

    targets.settle()
    for line in sys.stdin:
        request = json.loads(line)
        error = ""
        try:
            target = targets.find_target(request["target"])
            call = jax_private.CompileCall(
                base64.b64decode(request["module"]), base64.b64decode(request["options"]), tuple(request["devices"])
            )
            with stand_ins(target, call.module):
                jax_private.compile_call(call, target.devices())
        except Exception as failure:  # noqa: BLE001 - whatever ends a compile is the answer
            error = str(failure) or type(failure).__name__
        # The mark is written to the descriptor that the compilers write to, so it follows all of their lines.
        os.write(2, f"\n{request['mark']}\n".encode())
        answers.write(json.dumps({"error": error}) + "\n")
        answers.flush()
