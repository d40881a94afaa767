"""Files: never more of one is read than its reader can use, and one that is written is whole, or not there."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

_PIECE: Final = 1 << 16


def read_file(path: Path, most_bytes: int, *, is_regular: bool = False) -> bytes:
    """Return the content of a file.

    Args:
        path: the file.
        most_bytes: what it holds at most.
        is_regular: whether pipes, devices and the like are refused, which may never come to an end.

    Raises:
        OSError: when it cannot be read, is of another sort, or holds more.
    """
    if is_regular and not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    pieces: list[bytes] = []
    left = most_bytes + 1
    with path.open("rb") as file:
        # Room is made for what is asked for, whether or not it is there.
        piece = max(_PIECE, os.fstat(file.fileno()).st_size + 1)
        while left > 0 and (data := file.read(min(left, piece))):
            pieces.append(data)
            left -= len(data)
    if left <= 0:
        raise OSError(errno.EFBIG, f"it is larger than {size_text(most_bytes)}")
    return b"".join(pieces)


def write_file(path: Path, data: bytes, *, may_replace: bool = False, is_private: bool = False) -> None:
    """Write a file: all of it, or nothing is left behind.

    Args:
        path: the file; where it is a link to a regular file, that is written.
        data: its content.
        may_replace: whether a file that is there is replaced; nothing but a regular one ever is.
        is_private: whether nobody but its owner may read it.

    Raises:
        FileExistsError: when it is there and may not be replaced.
        OSError: when it is no regular file, or cannot be written.
    """
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


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def size_text(count: int) -> str:
    """Return a number of bytes for a sentence: ``128 MiB``."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count // size} {unit}"
    return f"{count} bytes"
