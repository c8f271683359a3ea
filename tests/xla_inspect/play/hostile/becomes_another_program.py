#: crash, time
import os

os.execvp("sleep", ["sleep", "{{SLEEP}}"])
