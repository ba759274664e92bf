"""The program that the package carries, as a command."""

from __future__ import annotations

import os
import sys

from ._worker import program


def main() -> None:
    """Becomes the program."""
    os.execv(program(), [program(), *sys.argv[1:]])
