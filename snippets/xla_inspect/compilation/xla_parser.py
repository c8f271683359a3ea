"""XLA's own parser of HLO text, asked directly."""

from __future__ import annotations

from xla_inspect import jax_private
from xla_inspect.errors import InspectError


class RefusedHloError(InspectError):
    """HLO text that XLA's parser does not take; the message is the parser's, word for word."""


def read_back(text: str) -> str:
    """Return HLO text as XLA prints it after it has read it: shapes inferred, names completed.

    The parser checks the grammar and the attributes, not whether the shapes go together: that is the verifier's work.

    Raises:
        RefusedHloError: The parser does not take the text.
    """
    try:
        return jax_private.parse_hlo(text)
    except RuntimeError as error:
        raise RefusedHloError(str(error)) from None
