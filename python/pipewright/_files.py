"""Texts that stand where the program takes files."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable

from ._report import save_text


class TextFile(os.PathLike[str]):
    """A text that may be given where a path is taken.

    Until it is saved, its file is in the user's cache (``~/.cache/pipewright``, or that of
    XDG_CACHE_HOME), under a name that its text gives: what names it can be read another day.
    """

    #: Whether what is written of it names its file.
    _lasts = True

    def __init__(self, text: str, name: str) -> None:
        #: What the file holds.
        self.text = text
        self._name = name
        self._path: str | None = None
        self._is_own = True  # in the cache

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it; from then on a scenario that has it names this file."""
        save_text(path, self.text)
        self._path = os.path.abspath(os.fspath(path))
        self._is_own = False

    def __fspath__(self) -> str:
        if self._path is None or not os.path.exists(self._path):
            self._path = keep(self.text, self._name, lasts=self._lasts)
            self._is_own = True
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


def keep(text: str, name: str, *, lasts: bool = True) -> str:
    """The path of a file with this text: the same text has the same place."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    folder = os.path.join(_lasting_folder() if lasts else _passing_folder(), digest)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        file, partial = tempfile.mkstemp(dir=folder)  # others may write the same at once
        with os.fdopen(file, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        os.replace(partial, path)
    return path


def kept_files(text: str) -> dict[str, str]:
    """The kept files that a text names: by path, what each holds."""
    found = {}
    for path in dict.fromkeys(match[0] for match in _pattern().finditer(text)):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", newline="") as file:
            found[path] = file.read()
    return found


def without_folders(text: str) -> str:
    """A text for readers, in which kept files are called by their names alone."""
    return _pattern().sub(lambda match: match["name"], text)


def bring_along(file: str | os.PathLike[str], text: str) -> str:
    """Writes the kept files that a file's text names beside it; the text that names them there."""
    folder = os.path.dirname(os.path.abspath(os.fspath(file)))
    for path, held in kept_files(text).items():
        name = _free_name(folder, path, held)
        save_text(os.path.join(folder, name), held)
        text = text.replace(path, name)
    return text


def bring_along_all(files: Iterable[str | os.PathLike[str]]) -> None:
    """The same for files that the program has written."""
    for file in files:
        if not os.fspath(file).endswith((".yaml", ".yml", ".html", ".json")):
            continue
        with open(file, encoding="utf-8", newline="") as stream:
            text = stream.read()
        changed = bring_along(file, text)
        if changed != text:
            save_text(file, changed)


def _free_name(folder: str, path: str, held: str) -> str:
    """Its name, or with the sum of its text where another file has that already."""
    name = os.path.basename(path)
    try:
        with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
            is_free = file.read() == held
    except FileNotFoundError:
        is_free = True
    except (OSError, UnicodeDecodeError):
        is_free = False
    stem, extension = os.path.splitext(name)
    digest = os.path.basename(os.path.dirname(path))
    return name if is_free else f"{stem}-{digest}{extension}"


_passing: str | None = None


def _pattern() -> re.Pattern[str]:
    """Of paths that ``keep`` gives."""
    folders = [_cache()] if _passing is None else [_cache(), _passing]
    ours = "|".join(re.escape(folder) for folder in folders)
    return re.compile(rf"(?:{ours})/[0-9a-f]{{12}}/(?P<name>[^/\s\"'<>&\\]+)")


def _cache() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "pipewright", "files")


def _lasting_folder() -> str:
    try:
        os.makedirs(_cache(), exist_ok=True)
    except OSError:  # no home, or none to write to
        return _passing_folder()
    return _cache() if os.access(_cache(), os.W_OK) else _passing_folder()


def _passing_folder() -> str:
    """Of this process, and goes with it."""
    global _passing
    if _passing is None or not os.path.isdir(_passing):
        _passing = tempfile.mkdtemp(prefix="pipewright-")
        atexit.register(shutil.rmtree, _passing, ignore_errors=True)
    return _passing
