"""Routes structlog through `logging`, so that its lines are attributed and redacted.

structlog writes to standard output by default. It is no dependency of Torpor: it is configured only if a trigger class
has imported it.
"""

import logging
import sys
from importlib import import_module
from typing import Any

log = logging.getLogger(__name__)

_MARK = "_torpor_factory"


def route() -> None:
    """Configure structlog, if it is imported and configured otherwise."""
    structlog = sys.modules.get("structlog")
    if structlog is None:
        return
    try:
        if not _is_routed(structlog):
            _configure(structlog)
    except Exception as error:  # noqa: BLE001 - a library of unknown version
        log.warning("Failed to route structlog through logging: %s", type(error).__name__)


def _is_routed(structlog: Any) -> bool:
    ours = getattr(structlog, _MARK, None)
    return ours is not None and structlog.get_config().get("logger_factory") is ours


def _configure(structlog: Any) -> None:
    stdlib, processors, contexts = (
        import_module(f"structlog.{name}") for name in ("stdlib", "processors", "contextvars")
    )
    factory = stdlib.LoggerFactory()
    structlog.configure(
        processors=[
            contexts.merge_contextvars,
            processors.format_exc_info,
            processors.KeyValueRenderer(key_order=["event"]),
        ],
        wrapper_class=stdlib.BoundLogger,
        logger_factory=factory,
        cache_logger_on_first_use=False,
    )
    setattr(structlog, _MARK, factory)
