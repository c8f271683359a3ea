"""The live server: an edit rebuilds only the pages that it affects, or the whole site if it affects more than pages."""

from livepage.serve.browsers import SCRIPT_ADDRESS
from livepage.serve.last_build import Built, LastBuild
from livepage.serve.pages_pending import PagesPending
from livepage.serve.rebuild import Rebuild

__all__ = ["SCRIPT_ADDRESS", "Built", "LastBuild", "PagesPending", "Rebuild"]
