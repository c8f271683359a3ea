"""Captures shown as Markdown, HTML and SVG."""
