"""Texts that stand where the program takes files."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile

from ._report import save_text

_folder: str | None = None


class TextFile(os.PathLike[str]):
    """A text that may be given where a path is taken.

    Until it is saved, its file is one of this process, and goes with it.
    """

    def __init__(self, text: str, name: str) -> None:
        #: What the file holds.
        self.text = text
        self._name = name
        self._path: str | None = None
        self._is_own = True  # of this process

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it; from then on a scenario that has it names this file."""
        save_text(path, self.text)
        self._path = os.path.abspath(os.fspath(path))
        self._is_own = False

    def __fspath__(self) -> str:
        if self._path is None or not os.path.exists(self._path):
            # The same text has the same place, so that what is written of it is the same, too.
            digest = hashlib.sha256(self.text.encode()).hexdigest()[:12]
            folder = os.path.join(_own_folder(), digest)
            os.makedirs(folder, exist_ok=True)
            self._is_own = True
            self._path = os.path.join(folder, self._name)
            save_text(self._path, self.text)
        return self._path

    @property
    def label(self) -> str:
        """What it is called: its path, once it was saved."""
        return self._name if self._is_own else os.fspath(self)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), {**self.__dict__, "_path": None}))


def _again(kind: type[TextFile], fields: dict[str, object]) -> TextFile:
    made = kind.__new__(kind)
    made.__dict__.update(fields)
    return made


def _own_folder() -> str:
    global _folder
    if _folder is None or not os.path.isdir(_folder):
        _folder = tempfile.mkdtemp(prefix="pipewright-")
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    return _folder
