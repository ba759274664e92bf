"""The program that the package carries, as a command."""

from __future__ import annotations

import os
import signal
import sys

from ._worker import program


def main() -> None:
    """Becomes the program."""
    # Python ignores that nobody reads on, as `| head` does; the program ends then.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(program(), [program(), *sys.argv[1:]])
