"""What opcodes, passes and attributes are, in a sentence each: the table that is shown where a reader asks."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@lru_cache(maxsize=1)
def read_words() -> dict[str, dict[str, str]]:
    """Return the sentences by kind, `opcode`, `pass` or `attribute`, and by name."""
    text = (resources.files(__package__) / "words.toml").read_text(encoding="utf-8")
    words: dict[str, dict[str, str]] = tomllib.loads(text)
    return words


def describe_words(names: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the sentences of what occurs, by `kind:name`.

    Args:
        names: Names by kind; those that the table lacks are left out.
    """
    found = {}
    for kind, inside in names.items():
        known = read_words()[kind] | (read_words()["step"] if kind == "pass" else {})
        for name in sorted(set(inside) & set(known)):
            said = known[name].replace("`", "")
            found[f"{kind}:{name}"] = said[:1].upper() + said[1:] + ("" if said.endswith(".") else ".")
    return found
