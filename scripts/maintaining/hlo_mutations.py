"""Damage HLO texts at random, and read each: what is no HLO any more has to be refused in words, and soon.

    uv run python -m maintaining.hlo_mutations [--count 100000] [--seed 0] [FILE.hlo ...]

Characters, tokens and lines are removed, doubled, exchanged or replaced, and texts are cut. The reader may read what
comes out or raise its own error; any other error, and any text that takes longer than two seconds, is printed.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT, say
from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WRITTEN = ROOT / "tests" / "xla_inspect" / "hlo" / "written"
PATIENCE = 2.0
"""The largest number of seconds that reading a text may take."""
EVERY = 10_000
_TOKEN = re.compile(r"\s+|[\w.\-]+|\"[^\"]*\"|.", re.DOTALL)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PIECES = (
    *"{}[]()<>,=%\"'#*/\\\0\x1b\r\n\t",
    "/*", "//", "->", "...", "<=", "ROOT ", "ENTRY ", "HloModule ", "add(", "f32[", "9" * 400, "-", "1e999",
    "{" * 300, "(" * 300, "[" * 300, "\x1b[31m", "<script>", "\N{GREEK SMALL LETTER PI}", "\ud800", "nan", "{...}",
    "stride=0", "batch_group_count=0", "concatenate(", "pad(",
)  # fmt: skip


@dataclass
class Trial:
    """The results of reading damaged texts.

    Attributes:
        count: The number of texts.
        read: The number of texts that were still valid HLO.
        slowest: The longest time for a text, in seconds.
        faults: The failures, each with the text that caused it.
    """

    count: int = 0
    read: int = 0
    slowest: float = 0.0
    faults: list[tuple[str, str]] = field(default_factory=list)


def damage(text: str, dice: random.Random) -> str:
    """Return a text with one to four random faults in it."""
    for _ in range(dice.randint(1, 4)):
        parts = dice.choice((list, _TOKEN.findall, _LINE.findall))(text) or [""]
        place, other = dice.randrange(len(parts)), dice.randrange(len(parts))
        match dice.randrange(6):
            case 0:
                del parts[place]
            case 1:
                parts.insert(place, parts[other])
            case 2:
                parts[place], parts[other] = parts[other], parts[place]
            case 3:
                parts[place] = dice.choice(_PIECES)
            case 4:
                parts.insert(place, dice.choice(_PIECES))
            case _ if dice.random() < 0.2:  # noqa: PLR2004 - of the faults of this kind, one in five
                del parts[place:]
        text = "".join(parts)
    return text


def attempt(texts: Sequence[str], count: int, seed: int) -> Trial:
    """Damage and read `count` texts, chosen at random, and return the results."""
    dice, trial = random.Random(seed), Trial()  # noqa: S311 - the same seed must give the same texts
    for trial.count in range(1, count + 1):
        text = damage(dice.choice(texts), dice)
        start = time.process_time()
        try:
            parse_module(text)
            trial.read += 1
        except HloSyntaxError:
            pass
        except Exception as error:  # noqa: BLE001 - any other error is a bug to report
            trial.faults.append((f"{type(error).__name__}: {error}", text))
        seconds = time.process_time() - start
        trial.slowest = max(trial.slowest, seconds)
        if seconds > PATIENCE:
            trial.faults.append((f"{seconds:.1f} s", text))
        if trial.count % EVERY == 0:
            say(f"{trial.count:,} texts, {len(trial.faults)} faults")
    return trial


def read_texts(files: Iterable[Path]) -> list[str]:
    """Return the texts to damage: the given files, or those that the tests and the page about operations read."""
    chosen = [*files] or [*sorted(WRITTEN.glob("*.hlo")), ROOT / "docs" / "data" / "opcodes.hlo"]
    return [path.read_text(encoding="utf-8") for path in chosen]


def main(words: Sequence[str] | None = None) -> int:
    """Damage and read texts, print the results, and return 1 if there was a failure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.hlo")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    trial = attempt(read_texts(options.files), options.count, options.seed)
    for what, text in trial.faults[:20]:
        say(f"{what}\n{text[:2000]!r}")
    say(f"{trial.count:,} texts: {trial.read:,} read, {len(trial.faults)} faults, the slowest {trial.slowest:.2f} s")
    return 1 if trial.faults else 0


if __name__ == "__main__":
    sys.exit(main())
