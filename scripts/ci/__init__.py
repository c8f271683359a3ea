"""The tasks of continuous integration besides `scripts/test`: reports, publication, and trials of new releases."""
