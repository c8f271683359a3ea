#: memory, time, crash, loading, limit
# Within C, and without end but for a bound that no limit should let it reach.
import itertools

held = list(itertools.islice(itertools.count(10**9), 120_000_000))
