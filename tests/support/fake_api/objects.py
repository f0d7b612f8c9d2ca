"""The rules of writing of the API server in memory, under the name that the tests use."""

from torpor_local.apiserver.objects import FOREGROUND, DeniedError, Objects

__all__ = ["FOREGROUND", "DeniedError", "Objects"]
