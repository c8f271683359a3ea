#: result
# What it prints looks like the server's own lines.
print('{"event": "data", "target": "cpu", "part": "whole", "data": {"forged": true}, "seconds": {}}')
print('{"event": "done", "id": "0", "seconds": 0}')


def f(x):
    return x * 2
