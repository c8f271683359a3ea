"""Functions that write a number with its noun, and that put nouns into the singular."""

import re


def plural(number: int, noun: str, many: str = "") -> str:
    """Return a number with its noun, as in `1 kernel` and `2,000 kernels`.

    Args:
        number: The number.
        noun: The singular of the noun.
        many: The plural, if it is not the noun with an `s`.
    """
    return f"{number:,} {noun if number == 1 else many or f'{noun}s'}"


def singular(nouns: str) -> str:
    """Return plural nouns in the singular: `kernels` as `kernel`, `transposes and copies` as `transpose or copy`.

    The rules cover the nouns that this project counts. A word that ends without an `s`, such as `percent`, stays.

    Args:
        nouns: One or more nouns in the plural, adjectives included.
    """
    return " ".join("or" if word == "and" else _drop_ending(word) for word in nouns.split(" "))


def _drop_ending(word: str) -> str:
    if word.endswith("ies"):
        return f"{word.removesuffix('ies')}y"
    # After these endings, the plural has `es`; after others, the `e` belongs to the word.
    if re.search(r"(?:ss|sh|ch|x)es$", word):
        return word.removesuffix("es")
    return word if word.endswith("ss") else word.removesuffix("s")
