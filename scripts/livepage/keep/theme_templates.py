"""Keep the compiled templates of the theme, which otherwise take a third of a rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import BytecodeCache

from livepage.keep import file_seal
from livepage.read import project

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2.bccache import Bucket


class Templates(BytecodeCache):
    """Templates by a key of their name and place; that one is of the source as it is now, Jinja sees itself."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a template, where it is kept whole."""
        code = file_seal.read(_find(bucket))
        if code is not None:
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template."""
        file_seal.write(_find(bucket), bucket.bytecode_to_string())


def _find(bucket: Bucket) -> Path:
    return project.root / ".cache" / "templates" / f"{bucket.key}.sealed"
