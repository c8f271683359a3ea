"""Edit a program in its place on a served page, and see what the page would show and say of it."""

from livepage.edits.edit_service import EditService

__all__ = ["EditService"]
