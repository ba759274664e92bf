#!python
"""The command pipewright of a wheel: replaces this process by the program of the package.

The package is not imported, since numpy takes longer to import than the program to start.
"""

import importlib.util
import os
import signal
import sys

[package] = importlib.util.find_spec("pipewright").submodule_search_locations
program = os.environ.get("PIPEWRIGHT_PROGRAM") or os.path.join(package, "bin", "pipewright")
# Python ignores SIGPIPE, but the program should end when its reader does, as with `| head`.
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.execv(program, [program, *sys.argv[1:]])
