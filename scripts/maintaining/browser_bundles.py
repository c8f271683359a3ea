"""Make what browsers load and the repository does not hold, from packages of npm, checked against hashes on record.

scripts/maintaining/browser-bundles                    # each, unless what is on record lies there already
scripts/maintaining/browser-bundles editor             # one: `editor` for the playground, `pyodide` for the site
scripts/maintaining/browser-bundles --if-possible      # where one cannot be made, say so and go on
scripts/maintaining/browser-bundles editor --record    # after a change of its versions: record what comes out
"""

from __future__ import annotations

import argparse
import sys

from common import say
from maintaining.editor_bundle import EDITOR
from maintaining.npm_packages import BundleError
from maintaining.pyodide_bundle import PYODIDE

BUNDLES = {bundle.name: bundle for bundle in (EDITOR, PYODIDE)}


def main() -> int:
    """Build the missing bundles; return 1 if a required one cannot be built."""
    parser = argparse.ArgumentParser(prog="browser_bundles", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(BUNDLES)} (default: each)")
    parser.add_argument("--record", action="store_true", help="record what comes out")
    parser.add_argument("--if-possible", action="store_true", help="where one cannot be made, say so and go on")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BUNDLES]:
        parser.error(f"no {unknown[0]}: there are {', '.join(BUNDLES)}")
    failed = False
    for bundle in [BUNDLES[name] for name in options.names or BUNDLES]:
        try:
            if options.record or not bundle.is_made():
                bundle.make(is_new=options.record)
        except BundleError as error:
            say(f"{bundle.title} cannot be made: {error}. {bundle.without}", aside=True)
            failed = True
    return int(failed and not options.if_possible)


if __name__ == "__main__":
    sys.exit(main())
