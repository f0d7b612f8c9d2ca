"""The SQLAlchemy tables. `migrations/` creates them; a test compares the two.

Bodies have their own table, so that nothing refers to an unfinished upload. `namespace_uid` is that of the namespace in
which a row was made (`torpor_archive.namespaces`): another team may use the name of a deleted one. A log belongs to its
run by the uid of the Workflow, and not by a foreign key: it is stored before the run is archived.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    false,
)

METADATA = MetaData()

BODIES = Table(
    "bodies",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("complete", Boolean, nullable=False),
    Column("created", Float(53), nullable=False),
    Column("type", String(16), nullable=False),
    Column("name", Text),
    Column("size", BigInteger),
    Column("digest", String(64)),
    Column("length", BigInteger),
    Column("keys", Text),
    Column("objects", Text),
    Index("bodies_unfinished", "complete", "created"),
)
"""`created` is in seconds since the epoch. `length` and `keys` are those of `torpor_crds.models.archive`. `objects` is
the prefix of the names of the objects that have the bytes, instead of chunks."""

CHUNKS = Table(
    "chunks",
    METADATA,
    Column("body", String(32), ForeignKey("bodies.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("size", Integer, nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("lines", Integer, nullable=False),
    Column("starts", LargeBinary, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("chunks_first", "body", "first"),
)
"""`at` is the chunk's offset in the body; `first` is the number of the first of the `lines` that begin in it."""

RESULTS = Table(
    "results",
    METADATA,
    Column("namespace", String(253), primary_key=True),
    Column("taskrun", String(128), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("workflow", String(63), nullable=False),
    Column("body", String(32), ForeignKey("bodies.id"), nullable=False, unique=True),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("segment", Integer, nullable=False, server_default="0"),
    Column("launch", Integer, nullable=False, server_default="0"),
    Column("namespace_uid", String(63), nullable=False, server_default=""),
    Index("results_workflow", "namespace", "workflow"),
    Index("results_by_namespace_uid", "namespace_uid", "namespace"),
)
"""`workflow` is a uid. `taskrun` is one too, or names an event or a file of the TaskRun (`torpor_wire.names`). It has
one body: an upload replaces that of an earlier launch."""

RUNS = Table(
    "runs",
    METADATA,
    Column("namespace", String(253), primary_key=True),
    Column("uid", String(63), primary_key=True),
    Column("name", String(253), nullable=False),
    Column("state", String(63), nullable=False),
    Column("created", String(32), nullable=False),
    Column("completed", String(32), nullable=False),
    Column("archived", Float(53), nullable=False),
    Column("body", String(32), ForeignKey("bodies.id"), nullable=False, unique=True),
    Column("completed_at", Float(53), nullable=False, server_default="0"),
    Column("clears", Integer, nullable=False, server_default="0"),
    Column("taskruns", Integer, nullable=False, server_default="0"),
    Column("indexed", Boolean, nullable=False, server_default=false()),
    Column("namespace_uid", String(63), nullable=False, server_default=""),
    Index("runs_by_completion", "completed_at", "uid"),
    Index("runs_of_namespace", "namespace", "completed_at", "uid"),
    Index("runs_by_name", "namespace", "name"),
    Index("runs_not_indexed", "indexed"),
    Index("runs_by_namespace_uid", "namespace_uid", "namespace"),
)
"""`created` and `completed` are copied from the Workflow; `archived` and `completed_at` are in seconds since the epoch.

`clears` and `completed_at` order the versions of a run: after a clear it ends again and replaces the former version.
`indexed` is false for a run that a release without labels stored: its labels are not in `run_labels` yet.
"""

RUN_LABELS = Table(
    "run_labels",
    METADATA,
    Column("namespace", String(253), primary_key=True),
    Column("uid", String(63), primary_key=True),
    Column("key", String(317), primary_key=True),
    Column("value", String(63), nullable=False),
    ForeignKeyConstraint(["namespace", "uid"], ["runs.namespace", "runs.uid"], ondelete="CASCADE"),
    Index("run_labels_value", "key", "value"),
)
"""The labels of the Workflows in `runs`."""


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
    Column("container", String(63), nullable=False, server_default="main"),
    Index("logs_run", "namespace", "workflow", "started", "id"),
    Index("logs_pending", "state", "expires"),
    Index("logs_by_namespace_uid", "namespace_uid", "namespace"),
)
"""`id` is the uid of the pod, with the name of a container other than that of the task, or names the wait. `path` has
the indexes as in `0.2`. `size` and `omitted` are bytes of text, `stored` compressed bytes. `object` is the name in the
object store. While the state is Pending, replica `owner` reads the log, until `expires` (seconds since the epoch)."""

LOG_CHUNKS = Table(
    "log_chunks",
    METADATA,
    Column("log", String(128), ForeignKey("logs.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
"""The text, cut at line ends; each chunk is one zstd frame. Chunk 0 is the beginning, the others the end."""

LOG_GARBAGE = Table("log_garbage", METADATA, Column("object", String(500), primary_key=True))
"""Names in the object store of deleted logs. One that ends with `/` is the prefix of a deleted file."""
