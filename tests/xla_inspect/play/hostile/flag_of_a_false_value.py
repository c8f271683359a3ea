#: compiler, arguments, crash, limit
#: flags {"xla_backend_optimization_level": "many"}


def f(x):
    return x * 2
