"""The SQLAlchemy tables of logs, in the same metadata as the others.

A log belongs to its run by the uid of the Workflow, and not by a foreign key: it is stored before the run is archived.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from torpor_archive.storage.tables import METADATA

LOGS = Table(
    "logs",
    METADATA,
    Column("id", String(128), primary_key=True),
    Column("namespace", String(253), nullable=False),
    Column("workflow", String(63), nullable=False),
    Column("taskrun", String(253), nullable=False),
    Column("task", String(253), nullable=False),
    Column("path", String(63), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("segment", Integer, nullable=False),
    Column("launch", Integer, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("pod", String(253), nullable=False),
    Column("node", String(253), nullable=False),
    Column("started", String(40), nullable=False),
    Column("ended", String(40), nullable=False),
    Column("state", String(8), nullable=False),
    Column("reason", String(63), nullable=False),
    Column("message", Text, nullable=False),
    Column("failed", Boolean, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("omitted", BigInteger, nullable=False),
    Column("stored", BigInteger, nullable=False),
    Column("object", Text, nullable=False),
    Column("created", Float(53), nullable=False),
    Column("owner", String(253), nullable=False),
    Column("expires", Float(53), nullable=False),
    Column("namespace_uid", String(63), nullable=False, server_default=""),
    Index("logs_run", "namespace", "workflow", "started", "id"),
    Index("logs_pending", "state", "expires"),
    Index("logs_by_namespace_uid", "namespace_uid", "namespace"),
)
"""`id` is the uid of the pod, or names the wait. `path` has the indexes as in `0.2`. `size` and `omitted` are bytes of
text, `stored` compressed bytes. `object` is the name in the object store. While the state is Pending, replica `owner`
reads the log, until `expires` (seconds since the epoch)."""

LOG_CHUNKS = Table(
    "log_chunks",
    METADATA,
    Column("log", String(128), ForeignKey("logs.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
"""The text, cut at line ends; each chunk is one zstd frame. Chunk 0 is the beginning, the others the end."""

LOG_GARBAGE = Table("log_garbage", METADATA, Column("object", String(500), primary_key=True))
"""Names in the object store of deleted logs."""
