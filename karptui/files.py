"""Files: reading with a size limit, atomic writing, and lines that are on the disk."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

_PIECE: Final = 1 << 16
_MOST_OF_A_DEVICE: Final = _PIECE
"""A terminal's input, or nothing; other devices may never end."""


def read_file(
    path: Path, most_bytes: int, *, is_regular: bool = False, look: Callable[[bytes], None] | None = None
) -> bytes:
    """Return the content of a file.

    Args:
        path: The file.
        most_bytes: Size limit.
        is_regular: Whether to refuse pipes, devices and the like, which may never end.
        look: Called with the first bytes before more is read; raises to stop.

    Raises:
        OSError: if it cannot be read, is of another type, or is too large.
    """
    if is_regular and not stat.S_ISREG(path.stat().st_mode):
        raise _irregular()
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        if stat.S_ISREG(about.st_mode) and about.st_size > most_bytes:
            raise _too_large(most_bytes)
        if stat.S_ISCHR(about.st_mode) or stat.S_ISBLK(about.st_mode):
            data = read_stream(file, most_bytes, look=look, stops_after=_MOST_OF_A_DEVICE)
            if len(data) > _MOST_OF_A_DEVICE:
                raise _irregular()
            return data
        return read_stream(file, most_bytes, look=look, expected=about.st_size)


def read_stream(
    file: BinaryIO,
    most_bytes: int,
    *,
    look: Callable[[bytes], None] | None = None,
    expected: int = 0,
    stops_after: int | None = None,
) -> bytes:
    """Return a stream's content up to its end, read in pieces.

    Args:
        file: The stream.
        most_bytes: Size limit.
        look: Called with the first bytes before more is read; raises to stop.
        expected: Expected size, read at once.
        stops_after: Stop reading, without an error, after more than this number of bytes.

    Raises:
        OSError: if it cannot be read, or is too large.
    """
    pieces: list[bytes] = []
    left = most_bytes + 1
    size = _PIECE if look is not None else max(_PIECE, expected + 1)
    while left > 0 and (data := file.read(min(left, size))):
        if look is not None and not pieces:
            look(data)
            # A read allocates the requested size, even if less arrives.
            size = max(_PIECE, expected + 1)
        pieces.append(data)
        left -= len(data)
        if stops_after is not None and most_bytes + 1 - left > stops_after:
            break
    if left <= 0:
        raise _too_large(most_bytes)
    return b"".join(pieces)


def _irregular() -> OSError:
    return OSError(errno.EINVAL, "it is no regular file")


def _too_large(most_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {size_text(most_bytes)}")


_SERVED: Final = "a session in a browser (--serve) opens and writes no files"
_forbidden = False


def forbid_files() -> None:
    """From now on, refuse to write files and to open files that a screen names, because visitors see the screen."""
    global _forbidden  # noqa: PLW0603 - a property of the process
    _forbidden = True


def files_are_forbidden() -> bool:
    """Return whether this process writes no files, because it serves a browser."""
    return _forbidden


def check_allowed() -> None:
    """Raise if files are forbidden.

    Raises:
        PermissionError: with the reason.
    """
    if _forbidden:
        raise PermissionError(errno.EPERM, _SERVED)


def write_file(path: Path, data: bytes, *, may_replace: bool = False, is_private: bool = False) -> None:
    """Write a file atomically.

    Args:
        path: The file; a link to a regular file is followed.
        data: Its content.
        may_replace: Whether to replace an existing regular file.
        is_private: Whether only its owner may read it.

    Raises:
        FileExistsError: if it exists and may not be replaced.
        OSError: if it is not a regular file, or cannot be written.
    """
    check_allowed()
    if os.path.lexists(path):
        if not may_replace:
            raise FileExistsError(errno.EEXIST, "it exists already")
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "it is no regular file, and only those are replaced")
        path = path.resolve()
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".karptui-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        if not is_private:
            Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file that only its owner may read, made if missing, and return once it is on the disk.

    Raises:
        OSError: if it is not a regular file, is a link, or cannot be written.
    """
    check_allowed()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise _irregular()
        if about.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
        if os.write(descriptor, line + b"\n") != len(line) + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def size_text(count: int) -> str:
    """Return a number of bytes as text: ``128 MiB``."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count // size} {unit}"
    return f"{count} bytes"
