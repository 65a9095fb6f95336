"""Windows, as far as another system can be made to behave like it: what it refuses is refused, with its codes.

A file that this process has open or mapped is not renamed, replaced or deleted, nor is a folder with such a file
renamed; a read-only file is not deleted; a rename takes no other file's place; devices' names and some characters are
no names of files; lines of text files end in CR LF; wim_edge's modules find no name in `os`, `signal` and so on that
only Unix has. (What stands behind `sys.platform` is checked by `mypy --platform win32`.) Paths stay those of this
system, and so does the case of names.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import io
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

UNIX_MODULES = frozenset({
    "_posixsubprocess", "crypt", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd", "syslog",
    "termios", "tty",
})  # fmt: skip
"""Modules of the standard library that Windows does not have."""
UNIX_NAMES: dict[str, frozenset[str]] = {
    "os": frozenset({
        "O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "chown", "chroot",
        "ctermid", "fchdir", "fchmod", "fchown", "fork", "forkpty", "fstatvfs", "getegid", "geteuid", "getgid",
        "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getresuid", "getsid", "getuid", "initgroups",
        "killpg", "lchown", "lockf", "mkfifo", "mknod", "nice", "openpty", "pathconf", "posix_fadvise",
        "posix_fallocate", "posix_spawn", "pread", "pwrite", "register_at_fork", "sched_getaffinity",
        "sched_setaffinity", "sched_yield", "sendfile", "setegid", "seteuid", "setgid", "setgroups", "setpgid",
        "setpriority", "setsid", "setuid", "statvfs", "sync", "sysconf", "tcgetpgrp", "tcsetpgrp", "ttyname", "uname",
        "wait", "wait3", "wait4", "waitid",
    }),
    "signal": frozenset({
        "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGIO", "SIGKILL", "SIGPIPE", "SIGPROF", "SIGQUIT", "SIGSTOP",
        "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH",
        "SIGXCPU", "SIGXFSZ", "alarm", "getitimer", "pause", "pthread_kill", "pthread_sigmask", "setitimer",
        "siginterrupt", "sigpending", "sigtimedwait", "sigwait", "sigwaitinfo",
    }),
    "select": frozenset({"devpoll", "epoll", "kevent", "kqueue", "poll"}),
    "socket": frozenset({"AF_UNIX", "CMSG_SPACE", "recv_fds", "send_fds"}),
    "time": frozenset({"CLOCK_MONOTONIC", "clock_gettime", "clock_settime", "pthread_getcpuclockid", "tzset"}),
}  # fmt: skip
"""Names of modules that Windows has, which it does not."""

_BEHIND_PLATFORM = ("wim_edge.server.uploads", "wim_edge.system.subprocesses")
"""Modules that keep what they have: what they must not use stands behind `sys.platform`."""

_OPEN = io.open
ACCESS_DENIED, SHARING_VIOLATION, INVALID_NAME, ALREADY_EXISTS = 5, 32, 123, 183
_REFUSED = re.compile(r"""(?ix) (con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]) (\..*)?   # devices, whatever the ending
                          | .* [<>:"|?*\x00-\x1f] .* | .*[. ]""", re.DOTALL)  # fmt: skip


class Windows:
    """The layer, once it is in force."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        if os.name == "nt":  # which refuses by itself
            return
        self._real = {name: getattr(os, name) for name in ("open", "mkdir", "rename", "replace", "unlink")}
        for name, function in (("rename", self._rename), ("replace", self._replace), ("unlink", self._unlink),
                               ("remove", self._unlink), ("mkdir", self._mkdir), ("open", self._os_open)):  # fmt: skip
            patch.setattr(os, name, function)
        patch.setattr(io, "open", self._text_open)
        patch.setattr(builtins, "open", self._text_open)
        patch.setattr(shutil, "_use_fd_functions", False)
        ours = {name: _Without(importlib.import_module(name)) for name in UNIX_NAMES}
        for module in list(sys.modules.values()):
            name = getattr(module, "__name__", None) or ""
            if name.partition(".")[0] == "wim_edge" and name not in _BEHIND_PLATFORM:
                for name, own in ours.items():
                    if vars(module).get(name) is sys.modules[name]:
                        patch.setattr(module, name, own)

    # What is refused

    def _rename(self, source: Any, target: Any, **more: Any) -> None:
        if os.path.lexists(target):
            raise _error(FileExistsError, errno.EEXIST, ALREADY_EXISTS, "the file exists already", target)
        self._move("rename", source, target, **more)

    def _replace(self, source: Any, target: Any, **more: Any) -> None:
        if os.path.isfile(target) and is_in_use(target):
            raise _error(PermissionError, errno.EACCES, ACCESS_DENIED, "Access is denied", target)
        self._move("replace", source, target, **more)

    def _move(self, how: str, source: Any, target: Any, **more: Any) -> None:
        _check_name(target)
        if is_in_use(source):
            code = ACCESS_DENIED if os.path.isdir(source) else SHARING_VIOLATION
            raise _error(PermissionError, errno.EACCES, code, "another process is using it", source)
        self._real[how](source, target, **more)

    def _unlink(self, path: Any, **more: Any) -> None:
        if os.path.isfile(path) and not os.path.islink(path):
            if not os.stat(path).st_mode & stat.S_IWUSR:
                raise _error(PermissionError, errno.EACCES, ACCESS_DENIED, "Access is denied", path)
            if is_in_use(path):
                raise _error(PermissionError, errno.EACCES, SHARING_VIOLATION, "another process is using it", path)
        self._real["unlink"](path, **more)

    def _mkdir(self, path: Any, *args: Any, **more: Any) -> None:
        _check_name(path)
        self._real["mkdir"](path, *args, **more)

    def _os_open(self, path: Any, flags: int, *args: Any, **more: Any) -> int:
        if flags & os.O_CREAT:
            _check_name(path)
        return int(self._real["open"](path, flags, *args, **more))

    def _text_open(
        self, file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, errors: str | None = None,
        newline: str | None = None, closefd: bool = True, opener: Callable[[str, int], int] | None = None,
    ) -> Any:  # fmt: skip
        if {"w", "a", "x"} & set(mode):
            if not isinstance(file, int):
                _check_name(file)
            if "b" not in mode and newline is None:
                newline = "\r\n"
        return _OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)


class _Without:
    """A module without the names that Windows' one lacks, and with that one's name for the system."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._missing = module, UNIX_NAMES[module.__name__]

    def __getattr__(self, name: str) -> Any:
        if name in self._missing:
            raise AttributeError(f"Windows' {self._module.__name__} has no {name}")
        if self._module is os and name in ("name", "supports_dir_fd"):
            return "nt" if name == "name" else set()
        return getattr(self._module, name)


def is_in_use(path: Any) -> bool:
    """Tells whether this process has the file open or mapped, or one in the folder."""
    found = os.path.realpath(path)
    return any(one == found or one.startswith(found + os.sep) for one in _in_use())


def _in_use() -> Iterator[str]:
    import psutil

    yield from (one.path for one in psutil.Process().open_files())
    with suppress(FileNotFoundError), _OPEN("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        yield from {line[5] for line in (line.rstrip().split(maxsplit=5) for line in maps) if len(line) == 6}
    # On another system what is mapped is not known


def refuses_name(part: str) -> bool:
    """Tells whether Windows takes this as no name of a file."""
    return _REFUSED.fullmatch(part) is not None


def _check_name(path: Any) -> None:
    for part in Path(os.fsdecode(path)).parts:
        if part not in (os.sep, "..") and refuses_name(part):
            raise _error(OSError, errno.EINVAL, INVALID_NAME, "The filename syntax is incorrect", path)


def _error(kind: type[OSError], number: int, code: int, text: str, path: Any) -> OSError:
    found = kind(number, text, os.fsdecode(path))
    found.winerror = code  # type: ignore[attr-defined, unused-ignore]
    return found
