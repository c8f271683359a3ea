"""Live pages: Markdown whose blocks, values and checks run while the site is built, and in the tests."""
