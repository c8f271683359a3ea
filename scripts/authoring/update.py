"""Write what programs compile to into `tests/expected`, or say where that differs from what stands there.

scripts/update [--check] [PROGRAM ...]
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from authoring import expected_outputs
from common import ROOT, say

if TYPE_CHECKING:
    from collections.abc import Sequence


def update(programs: Sequence[str], *, check: bool) -> int:
    """Compile programs, write their expected outputs, delete those that no program makes, and print the changes.

    With `check`, only compare them, and return 1 if anything differs; otherwise the exit status is 0.
    """
    changes, different, missing = [], [], {}
    for number, program in enumerate(programs, 1):
        differing = []
        for target in expected_outputs.list_targets(program):
            # A missing target keeps its files, so that a machine without its compiler can update the others.
            if obstacle := expected_outputs.find_obstacle(target):
                missing[target] = obstacle
                continue
            path = expected_outputs.locate(program, target)
            expected = path.read_text(encoding="utf-8") if path.is_file() else ""
            actual = expected_outputs.make(program, target)
            if difference := expected_outputs.compare_outputs(program, target, expected, actual):
                differing.append(target)
                different.append(program)
                changes.append(difference if expected else f"{program} on {target}: new")
                if not check:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(actual, encoding="utf-8", newline="\n")
        news = f"{'differs' if check else 'wrote'} {', '.join(differing)}" if differing else "as expected"
        say(f"{number:>2} of {len(programs)}  {program}: {news}")
    stale = expected_outputs.find_stale()
    for path in stale:
        changes.append(f"{path.relative_to(ROOT).as_posix()}: no program makes it")
        if not check:
            path.unlink()
    for target, obstacle in missing.items():
        print(f"{target} was passed over: {obstacle}")
    if changes:
        print("", *changes, *([expected_outputs.advise(different)] if check and different else []), sep="\n\n")
    return int(check and bool(changes))


def main() -> None:
    """Update the programs that the command line names, or all programs."""
    parser = argparse.ArgumentParser(prog="scripts/update", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; the exit status says whether all is as expected"
    )
    parser.add_argument(
        "programs", nargs="*", metavar="PROGRAM", help="files of snippets/programs by name (default: all)"
    )
    options = parser.parse_args()
    names = expected_outputs.list_programs()
    if unknown := sorted(set(options.programs) - set(names)):
        parser.error(f"nothing to compile is named {', '.join(unknown)}; there are {', '.join(names)}")
    sys.exit(update(options.programs or names, check=options.check))


if __name__ == "__main__":
    main()
