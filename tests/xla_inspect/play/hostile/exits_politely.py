#: loading, crash
import sys

sys.exit()
