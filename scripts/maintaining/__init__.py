"""The occasional tasks of maintenance: pins, fonts, records of releases, and tests of the checks themselves."""
