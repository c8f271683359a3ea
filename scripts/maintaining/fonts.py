# /// script
# requires-python = ">=3.12"
# dependencies = ["fonttools[woff]==4.60.1"]
# ///
"""The site's fonts: those of two npm packages, reduced to the characters that the pages use.

    npm install --prefix DIR @fontsource/source-serif-4@5.3.1 @fontsource/ibm-plex-mono@5.3.0
    uv run scripts/maintaining/fonts.py DIR/node_modules

The license (SIL OFL 1.1) reserves the names of the originals, so the reduced fonts get other names.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter  # type: ignore[import-not-found]  # only this script needs it
from fontTools.ttLib import TTFont  # type: ignore[import-not-found]  # only this script needs it

FONTS = Path(__file__).resolve().parents[2] / "docs" / "assets" / "fonts"
# Printable ASCII, and the signs that prose and compiler text use beyond it.
CHARACTERS = "".join(map(chr, range(0x20, 0x7F))) + "\u00a0§°±²µ·×éü–—‘’“”•…−≈≠≤≥"  # noqa: RUF001 - these characters are intended
FEATURES = ["kern", "liga", "tnum", "lnum", "mark", "ccmp"]
SOURCES = (
    ("source-serif-4", "latin-400-normal", "Notebook Serif", "notebook-serif-400"),
    ("source-serif-4", "latin-400-italic", "Notebook Serif", "notebook-serif-400-italic"),
    ("source-serif-4", "latin-600-normal", "Notebook Serif", "notebook-serif-600"),
    ("ibm-plex-mono", "latin-400-normal", "Notebook Mono", "notebook-mono-400"),
)
# Family, unique id, full name, PostScript name, typographic family: the names that tell a font apart.
FAMILY, UNIQUE, FULL, POSTSCRIPT, TYPOGRAPHIC = 1, 3, 4, 6, 16


def cut(source: Path, family: str, name: str) -> Path:
    """Write a reduced and renamed copy of the font at `source`, and return its path."""
    font = TTFont(source, recalcTimestamp=False)
    options = Options(layout_features=FEATURES, hinting=False, flavor="woff2", name_IDs=["*"])
    subsetter = Subsetter(options)
    subsetter.populate(text=CHARACTERS)
    subsetter.subset(font)
    plain = "".join(part.capitalize() for part in name.split("-"))
    names = {FAMILY: family, UNIQUE: plain, FULL: plain, POSTSCRIPT: plain, TYPOGRAPHIC: family}
    for record in font["name"].names:
        if record.nameID in names:
            record.string = names[record.nameID]
    font.flavor = "woff2"
    path = FONTS / f"{name}.woff2"
    font.save(path)
    return path


def main() -> None:
    """Reduce every font, and copy the licenses next to them."""
    packages = Path(sys.argv[1]) / "@fontsource"
    for package, file, family, name in SOURCES:
        path = cut(packages / package / "files" / f"{package}-{file}.woff2", family, name)
        print(f"{path.stat().st_size:6,} bytes  {path.name}")
        shutil.copy(packages / package / "LICENSE", FONTS / f"{package}.LICENSE.txt")


if __name__ == "__main__":
    main()
