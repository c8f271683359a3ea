"""What is timed on an idle machine, or on hardware that a build has not, and recorded in docs/data."""
