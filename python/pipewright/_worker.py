"""Child processes of the program that answer requests, and a pool of idle ones.

A request is a dict whose ``"ask"`` names the task. The worker runs each request in a separate
process, because SimGrid allows one engine per process. It sends messages, dicts of which the last
is the answer.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import errors
from ._files import without_folders
from ._words import with_keywords

_MAX_FILES = 64  # per message

MessageHandler = Callable[[dict[str, Any], list[int]], None]

#: Exception types by name, as a worker process reports them.
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
        errors.UnknownOption,
    )
}


def program() -> str:
    """Path of the bundled program; PIPEWRIGHT_PROGRAM overrides it."""
    override = os.environ.get("PIPEWRIGHT_PROGRAM")
    return override or str(Path(__file__).parent / "bin" / "pipewright")


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


class Killed(errors.InternalError):
    """The end of a worker by a signal."""


#: What to change in a request whose worker was killed, since memory may be short.
_LESS_MEMORY = {
    "run": "run fewer scenarios at a time, or with rows=False",
    "search": "use fewer jobs, as in search(.., jobs=2)",
}


class Worker:
    """One child process; answers one request at a time."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [program(), "--answer"],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    process_group=0,
                )
            except OSError as error:
                ours.close()
                raise errors.InternalError(
                    f"the program {program()} cannot be started: {error.strerror}",
                    remedy="install the package again, or set PIPEWRIGHT_PROGRAM",
                ) from None
        self._socket = ours
        self._text = b""
        self._files: list[int] = []

    def ask(
        self, line: bytes, on_message: MessageHandler, files: Sequence[int] = (), in_python: bool = True
    ) -> dict[str, Any]:
        """Sends a request, a line of JSON, and returns its answer.

        Earlier messages go to ``on_message`` with their open files, which it must close. Raises the
        error that the worker reports, or a :class:`Killed`.
        """
        if len(files) > _MAX_FILES:
            raise ValueError(f"{len(files)} runs are more than {_MAX_FILES}")
        try:
            if files:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))
                line = line[self._socket.sendmsg([line], [rights]) :]
            self._socket.sendall(line)
        except OSError:
            raise self._ended() from None
        while True:
            message = self._receive()
            count = message.get("files", 0)
            files_here, self._files = self._files[:count], self._files[count:]
            if "answer" in message:
                answer: dict[str, Any] = message["answer"]
                return answer
            if "error" in message:
                raise _exception(message["error"], in_python)
            on_message(message, files_here)

    def _receive(self) -> dict[str, Any]:
        parts = [self._text]
        while b"\n" not in parts[-1]:
            try:
                text, files, _, _ = socket.recv_fds(self._socket, 1 << 17, _MAX_FILES)
            except OSError:
                raise self._ended() from None
            self._files += files
            if not text:
                raise self._ended()
            parts.append(text)
        line, self._text = b"".join(parts).split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def _ended(self) -> errors.InternalError:
        """The error of a process that ended before it answered."""
        status = self._process.wait()
        if status < 0:
            return Killed(f"the process of the program was killed ({signal.Signals(-status).name})")
        # The dynamic linker says on standard error which library is missing.
        again = subprocess.run([program(), "--version"], capture_output=True, text=True)
        words = again.stderr.strip() if again.returncode else f"it ended with status {status}"
        return errors.InternalError(f"the program {program()} does not answer: {words}")

    def is_alive(self) -> bool:
        """Whether the process still waits for requests."""
        return self._process.poll() is None

    def end(self) -> None:
        """Kills the process; a thread that waits for its answer gets an error."""
        self._process.kill()
        self._process.wait()
        self._socket.close()
        while self._files:
            os.close(self._files.pop())

    def forget(self) -> None:
        """After a fork: leaves the worker to the parent process."""
        self._socket.close()
        self._process.returncode = 0


_idle: list[Worker] = []
_busy: set[Worker] = set()
_lock = threading.Lock()


@contextlib.contextmanager
def worker() -> Iterator[Worker]:
    """Reserves a worker for a block.

    If an exception other than an error of the worker leaves the block, such as an interrupt, the
    worker is killed.
    """
    child = _idle_worker() or Worker()
    is_well = False
    with _lock:
        _busy.add(child)
    try:
        yield child
        is_well = True
    except (errors.Error, MemoryError) as error:
        is_well = not isinstance(error, errors.InternalError)
        raise
    finally:
        with _lock:
            _busy.discard(child)
            if is_well:
                _idle.append(child)
        if not is_well:
            child.end()


def _idle_worker() -> Worker | None:
    """An idle worker, after removal of those that were killed meanwhile."""
    with _lock:
        while _idle:
            child = _idle.pop()
            if child.is_alive():
                return child
            child.end()
    return None


def request(
    ask: str,
    arguments: dict[str, Any],
    on_message: MessageHandler | None = None,
    files: Sequence[int] = (),
    **written: str,
) -> dict[str, Any]:
    """Sends a request to an idle worker, or to a new one, with the current folder.

    ``written`` are arguments that are JSON already. Error texts name Python keywords, except for
    imported jobs, whose flags belong to other programs.
    """
    fields = {"ask": ask, "folder": os.getcwd(), **arguments}
    if library := os.environ.get("PIPEWRIGHT_PLATFORMS"):
        fields["platforms"] = library
    text = json.dumps(fields, ensure_ascii=False)[:-1]
    text += "".join(f', "{name}": {value}' for name, value in written.items()) + "}\n"
    try:
        line = text.encode()
    except UnicodeEncodeError as error:
        raise errors.ArgumentError(
            f"an argument or a path contains {text[error.start]!a}, which is no character of Unicode",
            allowed="text that can be encoded in UTF-8",
        ) from None
    with worker() as child:
        try:
            return child.ask(line, on_message or _drop, files, ask != "import")
        except Killed as error:
            if ask in _LESS_MEMORY:
                error.suggestion = f"memory may be short: {_LESS_MEMORY[ask]}"
            raise


def _drop(message: dict[str, Any], files: list[int]) -> None:
    for file in files:
        os.close(file)


def end_all() -> None:
    """Kills all workers; threads that wait for one get an InternalError."""
    with _lock:
        ended = [*_idle, *_busy]
        _idle.clear()
    for child in ended:
        child.end()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for child in (*_idle, *_busy):
        child.forget()
    _idle.clear()
    _busy.clear()


atexit.register(end_all)
os.register_at_fork(after_in_child=_after_fork)
