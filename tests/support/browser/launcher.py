"""Starts Chromium so that it does not watch network interfaces: `launcher.py CHROMIUM ARGUMENTS`.

Chromium ends all requests with ERR_NETWORK_CHANGED when an interface comes or goes, and each pod of a kind cluster has
one. It goes without the watch if it gets no netlink socket, and it has no option for that. A filter of system calls
(seccomp) refuses these sockets. Must run with nothing but the standard library.
"""

import ctypes
import os
import platform
import struct
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 97  # EAFNOSUPPORT
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_AF_NETLINK = 16
_SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""The architecture as the kernel numbers it, and its system call `socket`."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def main(argv: list[str]) -> None:
    """Refuse netlink sockets, and become the program."""
    if platform.machine() in _SOCKET:
        _refuse_netlink(*_SOCKET[platform.machine()])
    os.execv(argv[0], argv)


def _refuse_netlink(architecture: int, socket: int) -> None:
    """Install the filter for this process and its children. Without the right to, the browser starts without it."""
    instructions = (
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, 5, architecture),
        (_LOAD, 0, 0, _NUMBER),
        (_EQUAL, 0, 3, socket),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 0, 1, _AF_NETLINK),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    )
    code = b"".join(struct.pack("HBBI", *each) for each in instructions)
    program = _Program(len(instructions), code)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
