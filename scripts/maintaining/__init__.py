"""What is upkept now and then: pins, fonts, records of releases, and trials of the checks themselves."""
