#: crash, time
import os

os.execvp("sleep", ["sleep", "98762"])
