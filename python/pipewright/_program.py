"""The bundled program as a command."""

from __future__ import annotations

import os
import signal
import sys

from ._worker import program


def main() -> None:
    """Replaces this process by the program."""
    # Python ignores SIGPIPE, but the program should end when its reader does, as with `| head`.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(program(), [program(), *sys.argv[1:]])
