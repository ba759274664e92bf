"""The program as a child process that answers requests, and those of them that stand ready.

A request is a dict with what is asked under ``"ask"``; the worker runs each in a process of its
own (SimGrid has one engine a process), and says dicts, of which the last is the answer.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import errors
from ._files import without_folders
from ._words import with_keywords

_MOST_FILES = 64  # that come with a message

Said = Callable[[dict[str, Any], list[int]], None]

#: Exception types that a worker can name.
_ERROR_TYPES: dict[str, type[errors.Error]] = {
    error_type.__name__: error_type
    for error_type in (
        errors.Error,
        errors.ScenarioError,
        errors.ClusterError,
        errors.ScheduleError,
        errors.Deadlock,
        errors.ConditionError,
        errors.TraceError,
    )
}


def program() -> str:
    """Where the program is that the package carries; PIPEWRIGHT_PROGRAM names another."""
    given = os.environ.get("PIPEWRIGHT_PROGRAM")
    return given or str(Path(__file__).parent / "bin" / "pipewright")


def _exception(described: dict[str, Any], in_python: bool) -> BaseException:
    """Makes the exception that a worker describes.

    With ``in_python`` its text names keywords where the program names command-line options.
    """
    name = described.pop("kind")
    if name == "MemoryError":
        return MemoryError("not enough memory for a run of this size")
    for part in ("found", "allowed", "suggestion"):
        if part in described:
            described[part] = without_folders(described[part])
    error_type = _ERROR_TYPES.get(name, errors.InternalError)
    return error_type(**(with_keywords(described) if in_python else described))


class Worker:
    """One child process; answers one request at a time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [program(), "--answer"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                process_group=0,
            )
        self._socket = ours
        self._text = b""
        self._files: list[int] = []

    def ask(
        self, line: bytes, said: Said, files: Sequence[int] = (), is_spoken: bool = True
    ) -> dict[str, Any]:
        """The answer to a request, a line of JSON.

        What is said before goes to ``said`` with its open files, which are its own. Raises what the
        worker says went wrong.
        """
        if len(files) > _MOST_FILES:
            raise ValueError(f"{len(files)} runs are more than {_MOST_FILES}")
        if files:
            sent = self._socket.sendmsg(
                [line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
            )
            line = line[sent:]
        self._socket.sendall(line)
        while True:
            message = self._receive()
            count = message.get("files", 0)
            files_here, self._files = self._files[:count], self._files[count:]
            if "answer" in message:
                answer: dict[str, Any] = message["answer"]
                return answer
            if "error" in message:
                raise _exception(message["error"], is_spoken)
            said(message, files_here)

    def _receive(self) -> dict[str, Any]:
        parts = [self._text]
        while b"\n" not in parts[-1]:
            text, files, _, _ = socket.recv_fds(self._socket, 1 << 17, _MOST_FILES)
            self._files += files
            if not text:
                status = self._process.wait()
                raise errors.InternalError(f"the worker {program()} ended with status {status}")
            parts.append(text)
        line, self._text = b"".join(parts).split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def end(self) -> None:
        """Ends the process, whatever it does; who waits for its answer sees that it ended."""
        self._process.kill()
        self._process.wait()
        while self._files:
            os.close(self._files.pop())

    def forget(self) -> None:
        """In a copy of this process: leaves the worker to the process that it belongs to."""
        self._socket.close()
        self._process.returncode = 0


_idle: list[Worker] = []
_busy: set[Worker] = set()
_lock = threading.Lock()


@contextlib.contextmanager
def worker() -> Iterator[Worker]:
    """A worker that nobody else asks meanwhile.

    Where the block is left by an exception that is no answer, such as an interrupt, the worker and
    what it runs are ended.
    """
    with _lock:
        one = _idle.pop() if _idle else None
    if one is None:
        one = Worker()
    is_well = False
    with _lock:
        _busy.add(one)
    try:
        yield one
        is_well = True
    except (errors.Error, MemoryError) as error:
        is_well = not isinstance(error, errors.InternalError)
        raise
    finally:
        with _lock:
            _busy.discard(one)
            if is_well:
                _idle.append(one)
        if not is_well:
            one.end()


def request(
    ask: str,
    arguments: dict[str, Any],
    said: Said | None = None,
    files: Sequence[int] = (),
    **written: str,
) -> dict[str, Any]:
    """Asks a worker that stands ready, or a new one, as from the current folder.

    What is ``written`` is JSON already. Errors are in Python's words, but for those of jobs, which
    are about flags of their own.
    """
    whole = {"ask": ask, "folder": os.getcwd(), **arguments}
    if library := os.environ.get("PIPEWRIGHT_PLATFORMS"):
        whole["platforms"] = library
    line = json.dumps(whole)[:-1]
    line += "".join(f', "{name}": {text}' for name, text in written.items()) + "}\n"
    with worker() as one:
        return one.ask(line.encode(), said or _drop, files, ask != "import")


def _drop(message: dict[str, Any], files: list[int]) -> None:
    for file in files:
        os.close(file)


def end_all() -> None:
    """Ends all workers, whatever they do; who waits for one has an InternalError."""
    with _lock:
        ended = [*_idle, *_busy]
        _idle.clear()
    for one in ended:
        one.end()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for one in (*_idle, *_busy):
        one.forget()
    _idle.clear()
    _busy.clear()


atexit.register(end_all)
os.register_at_fork(after_in_child=_after_fork)
