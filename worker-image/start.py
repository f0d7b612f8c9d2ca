"""Starts the runtime of a python task from the folder that Torpor mounts, with the Python of the image (ADR 0037).

Every Python since 2.7 can parse this file, so that an older one ends with a sentence and not with a syntax error.
The packages of the runtime are appended to sys.path: what the image has is found first, an installed `torpor` too.
"""

import gc
import os
import sys

EXIT_UNSUPPORTED = 78  # torpor_wire.constants
OLDEST = (3, 11)
TERMINATION_LOG = "/dev/termination-log"


def main():  # type: () -> int
    """Check the interpreter, set up sys.path as `python -m` does, and run the task. Return an exit code."""
    if sys.version_info[:2] < OLDEST:
        return refuse(too_old())
    folder = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(folder):  # it is not with PYTHONSAFEPATH
        sys.path[0] = working_directory()
    sys.path.append(os.path.join(folder, "lib"))
    gc.disable()  # until the user's code begins: collections during the imports take 3 of 48 ms of CPU
    try:
        from torpor.runtime import main as runtime
    except ImportError as error:
        return refuse(not_imported(error))
    return runtime.main(runtime.in_pod)


def too_old():  # type: () -> str
    """Return the message for an interpreter that cannot run the packages."""
    version = ".".join(str(number) for number in sys.version_info[:3])
    oldest = ".".join(str(number) for number in OLDEST)
    return (
        "the image has Python " + version + " (" + str(sys.executable) + "), and a python task needs Python " + oldest
        + " or later: use an image with a newer python3, or run the program as a container task"
    )  # fmt: skip


def not_imported(error):  # type: (ImportError) -> str
    """Return the message for an image that lacks a standard module, or has other packages of the runtime's names."""
    names = ("torpor", "torpor_wire")
    missing = str(getattr(error, "name", None) or "")
    if missing.partition(".")[0] not in names:
        return (
            "the Python of the image has no module " + missing + ": use an image with the whole standard library ("
            + str(error) + ")"
        )  # fmt: skip
    files = [str(getattr(module, "__file__", None)) for name, module in sys.modules.items() if name in names]
    return (
        "the runtime cannot be imported (" + str(error) + "). These packages were found first: "
        + (", ".join(sorted(files)) or "none") + ". Remove other packages of the names " + " and ".join(names)
        + " from the image"
    )  # fmt: skip


def refuse(message):  # type: (str) -> int
    """Print the message, and write it to the termination log of the container, which the operator reads."""
    line = "torpor: " + message + "\n"
    sys.stderr.write(line)
    path = os.environ.get("TORPOR_OUTCOME", TERMINATION_LOG)
    try:
        if os.path.exists(path):  # only a kubelet creates it
            with open(path, "w") as log:
                log.write(line)
    except EnvironmentError:
        pass
    return EXIT_UNSUPPORTED


def working_directory():  # type: () -> str
    """Return the working directory, empty if it no longer exists."""
    try:
        return os.getcwd()
    except EnvironmentError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
