#: time, memory, crash, limit, loading
import resource

for name in ("RLIMIT_CPU", "RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_STACK"):
    try:
        resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError) as error:
        print(name, error)
while True:
    pass
