"""The occasional tasks of maintenance: pins, fonts, browser bundles, and trials of the checks and of the HLO reader."""
