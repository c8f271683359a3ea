"""Show an edit at once while a site is served: build the pages that changed, and all of it where more than that did."""

from livepage.serve.arrivals import Arrivals
from livepage.serve.browsers import SCRIPT_ADDRESS
from livepage.serve.last_build import Built, LastBuild
from livepage.serve.rebuild import Rebuild

__all__ = ["SCRIPT_ADDRESS", "Arrivals", "Built", "LastBuild", "Rebuild"]
