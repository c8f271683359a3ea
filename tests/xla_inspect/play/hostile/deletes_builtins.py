#: loading, crash, tracing, limit, time
import builtins

vars(builtins).clear()
