"""The lines of Python of launches, of which a combined collective has several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis import list_collectives, read_line, show_place
from xla_inspect.questions.collectives.finding import find_exchanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xla_inspect.analysis import Launched
    from xla_inspect.captured import Capture


def list_launch_places(capture: Capture, launches: Iterable[Launched]) -> Iterator[tuple[str, str]]:
    """Yield the line of each launch, as in `model.py:12`, and its source text; both are empty without a known line."""
    exchanges = find_exchanges(capture.program, capture, {}).exchanges if list_collectives(capture.module) else ()
    # A collective that the compiler combined from several belongs to the lines of all of them.
    combined = {one.name: (one.where, one.places[0].text) for one in exchanges if one.places}
    for launched in launches:
        launch = launched.launch
        line = launched.lines[0] if launched.lines else None
        own = (show_place(line), read_line(capture, line)) if line else ("", "")
        yield combined.get(launch.name) or combined.get(launch.scheduled.name) or own
