#: arguments, loading, tracing, result
class f:
    def __init__(self, x):
        self.x = x
