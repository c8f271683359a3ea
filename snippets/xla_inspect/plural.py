"""The plural of a noun."""


def plural(number: int, noun: str, many: str = "") -> str:
    """Return a number with its noun, as in `1 kernel` and `2,000 kernels`.

    Args:
        number: The number.
        noun: The singular of the noun.
        many: The plural, if it is not the noun with an `s`.
    """
    return f"{number:,} {noun if number == 1 else many or f'{noun}s'}"
