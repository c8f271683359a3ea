"""The tools for authors: a new chapter's first files, the expected outputs, and the review of changed sentences."""
