"""A direct interface to XLA's parser of HLO text."""

from __future__ import annotations

from xla_inspect import jax_private
from xla_inspect.errors import InspectError


class RefusedHloError(InspectError):
    """The error for HLO text that XLA's parser rejects, with the parser's own message."""


def read_back(text: str) -> str:
    """Parse HLO text with XLA's own parser, and return it as XLA prints it: with inferred shapes and completed names.

    The parser checks the grammar and the attributes. It does not check that shapes are consistent, which is the
    verifier's work.

    Raises:
        RefusedHloError: The parser rejects the text.
    """
    try:
        return jax_private.parse_hlo(text)
    except RuntimeError as error:
        raise RefusedHloError(str(error)) from None
