"""One-sentence explanations of opcodes, passes and attributes, read from `words.toml` for the explorer."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from xla_inspect.targets import find_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@lru_cache(maxsize=1)
def read_words() -> dict[str, dict[str, str]]:
    """Return the sentences by kind (`opcode`, `pass`, `step` or `attribute`) and by name."""
    text = (resources.files(__package__) / "words.toml").read_text(encoding="utf-8")
    words: dict[str, dict[str, str]] = tomllib.loads(text)
    return words


def describe_words(names: Mapping[str, Iterable[str]], target: str) -> dict[str, str]:
    """Return the sentences about the given names, by `kind:name`.

    Args:
        names: Names by kind. Names without a sentence are left out.
        target: The target, whose maker has words of its own.
    """
    sentences = {}
    for kind, inside in names.items():
        # A pass may also be known as a step of a pipeline.
        explanations = read_words()[kind] | (read_words()["step"] if kind == "pass" else {})
        for name in sorted(set(inside) & set(explanations)):
            # The page shows the sentences as plain text, in which Markdown's backticks would remain visible.
            sentence = find_terms(target).adapt(explanations[name].replace("`", ""))
            sentences[f"{kind}:{name}"] = sentence[:1].upper() + sentence[1:] + ("" if sentence.endswith(".") else ".")
    return sentences
