#: time
# An endless sum, within C.
import itertools

sum(itertools.repeat(0))
