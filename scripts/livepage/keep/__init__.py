"""Keep what was made and is still right: what pages came to and were rendered to, and files of a cache."""

from livepage.keep import file_seal, outcomes, rendered
from livepage.keep.theme_templates import Templates

__all__ = ["Templates", "file_seal", "outcomes", "rendered"]
