"""The number of launches that an answer shows. The command's help prints it, so this module imports nothing."""

USUAL_ROWS = 12
"""The default number of launches."""
