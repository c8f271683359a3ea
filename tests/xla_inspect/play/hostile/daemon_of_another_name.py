#: result, crash, limit, loading
# Another program, with no environment and in a session of its own.
import subprocess

subprocess.Popen(["sleep", "{{SLEEP}}"], env={}, start_new_session=True, close_fds=False)


def f(x):
    return x * 2
