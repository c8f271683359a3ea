"""The number of lines that an answer shows. The command's help prints it, so this module imports nothing."""

USUAL_LINES = 12
"""The default number of lines."""
