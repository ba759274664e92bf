"""Texts that can be used wherever the program takes a file."""

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
    """A text that can be used as a path.

    Until it is saved, its file lies in the user's cache (``~/.cache/pipewright``, or below
    XDG_CACHE_HOME) under a name derived from its text, so files that name it stay readable.
    """

    #: True if the file may be referred to by saved scenarios, so that it must outlive this process.
    _lasts = True

    def __init__(self, text: str, name: str) -> None:
        #: Content of the file.
        self.text = text
        self._name = name
        self._path: str | None = None
        self._is_own = True  # the path is in the cache

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the text to a file, which scenarios name from then on."""
        save_text(path, self.text)
        self._path = os.path.abspath(os.fspath(path))
        self._is_own = False

    def __fspath__(self) -> str:
        if self._path is None or not os.path.exists(self._path):
            self._path = store(self.text, self._name, lasts=self._lasts)
            self._is_own = True
        return self._path

    @property
    def label(self) -> str:
        """Name for messages: the path if the text was saved."""
        return self._name if self._is_own else os.fspath(self)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_unpickled_file, (type(self), {**self.__dict__, "_path": None}))


def _unpickled_file(kind: type[TextFile], fields: dict[str, object]) -> TextFile:
    file = kind.__new__(kind)
    file.__dict__.update(fields)
    return file


def store(text: str, name: str, *, lasts: bool = True) -> str:
    """Stores a text and returns its path; equal texts share a path."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    folder = os.path.join(_lasting_folder() if lasts else _temporary_folder(), digest)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        file, partial = tempfile.mkstemp(dir=folder)  # other processes may write the same file at once
        with os.fdopen(file, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        os.replace(partial, path)
    return path


def stored_files(text: str) -> dict[str, str]:
    """Contents of the stored files that a text names, by path."""
    contents = {}
    for path in dict.fromkeys(match[0] for match in _pattern().finditer(text)):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", newline="") as file:
            contents[path] = file.read()
    return contents


def without_folders(text: str) -> str:
    """The text with the names of stored files instead of their paths."""
    return _pattern().sub(lambda match: match["name"], text)


def bring_along(file: str | os.PathLike[str], text: str) -> str:
    """Copies the stored files that a text names to the folder of ``file``; returns the adapted text."""
    folder = os.path.dirname(os.path.abspath(os.fspath(file)))
    for path, content in stored_files(text).items():
        name = _free_name(folder, path, content)
        save_text(os.path.join(folder, name), content)
        text = text.replace(path, name)
    return text


def bring_along_all(files: Iterable[str | os.PathLike[str]]) -> None:
    """Copies the stored files that these files name to their folders, and adapts the files."""
    for file in files:
        if not os.fspath(file).endswith((".yaml", ".yml", ".html", ".json")):
            continue
        with open(file, encoding="utf-8", newline="") as stream:
            text = stream.read()
        changed = bring_along(file, text)
        if changed != text:
            save_text(file, changed)


def _free_name(folder: str, path: str, content: str) -> str:
    """Name of the copy; it includes the hash if another file has the plain name."""
    name = os.path.basename(path)
    try:
        with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
            is_free = file.read() == content
    except FileNotFoundError:
        is_free = True
    except (OSError, UnicodeDecodeError):
        is_free = False
    stem, extension = os.path.splitext(name)
    digest = os.path.basename(os.path.dirname(path))
    return name if is_free else f"{stem}-{digest}{extension}"


_temporary: str | None = None


def _pattern() -> re.Pattern[str]:
    """Pattern of the paths that :func:`store` returns."""
    folders = [_cache()] if _temporary is None else [_cache(), _temporary]
    ours = "|".join(re.escape(folder) for folder in folders)
    return re.compile(rf"(?:{ours})/[0-9a-f]{{12}}/(?P<name>[^/\s\"'<>&\\]+)")


def _cache() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(cache, "pipewright", "files")


def _lasting_folder() -> str:
    try:
        os.makedirs(_cache(), exist_ok=True)
    except OSError:  # there is no home, or it is read-only
        return _temporary_folder()
    return _cache() if os.access(_cache(), os.W_OK) else _temporary_folder()


def _temporary_folder() -> str:
    """Folder of this process, which is removed when it ends."""
    global _temporary
    if _temporary is None or not os.path.isdir(_temporary):
        _temporary = tempfile.mkdtemp(prefix="pipewright-")
        atexit.register(shutil.rmtree, _temporary, ignore_errors=True)
    return _temporary
