#: result, crash, loading, tracing, limit, compiler, memory, time
import resource

resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def f(x):
    return x * 2
