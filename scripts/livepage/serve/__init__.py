"""Show an edit at once while a site is served: build the pages that changed, and all of it where more than that did."""

from livepage.serve.browsers import SCRIPT_ADDRESS
from livepage.serve.last_build import Built, LastBuild
from livepage.serve.pages_pending import PagesPending
from livepage.serve.rebuild import Rebuild

__all__ = ["SCRIPT_ADDRESS", "Built", "LastBuild", "PagesPending", "Rebuild"]
