"""Files that hold a secret by their name or content: keys and service accounts. No ConfigMap gets them."""

import fnmatch
import re
from pathlib import Path

_NAMES = (".env*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "id_rsa", "id_ed25519")
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_JSON_FIELD = re.compile(rb'"private_key"\s{0,100}:')
_BYTES_MAX = 900_000
"""A larger file is too large for a ConfigMap in any case."""

INSTEAD = "it may hold a secret, so no ConfigMap gets it: mount a Secret, or read it in the task"


def is_secret(path: Path) -> bool:
    """Whether a file holds a secret. Python code is read by a pod as it is."""
    if path.suffix == ".py":
        return False
    if any(fnmatch.fnmatchcase(path.name.lower(), each) for each in _NAMES):
        return True
    if not path.is_file() or path.stat().st_size > _BYTES_MAX:
        return False
    content = path.read_bytes()
    return bool(_PRIVATE_KEY.search(content) or (path.suffix == ".json" and _JSON_FIELD.search(content)))
