#: compiler, arguments, crash, limit
#: flags {"xla_no_such_flag_at_all": "true"}


def f(x):
    return x * 2
