"""Rows against real servers: PostgreSQL, Redis, SSH and SFTP, and the file system."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from provider_runs.row import ProviderRow
from provider_runs.servers import ssh
from provider_runs.servers.started import RowServers

_MOMENT = {"__type": "datetime", "__var": "2026-11-26T00:00:00+00:00"}


def _duration(seconds: float) -> dict[str, Any]:
    return {"__type": "timedelta", "__var": seconds}


def standard(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of the standard provider."""
    folder = servers.folder / "files"
    folder.mkdir()
    (folder / "there.csv").write_text("1,2")
    connections = {"fs_default": "fs:///"}

    def trigger(path: str, arguments: dict[str, Any], **given: Any) -> ProviderRow:
        return ProviderRow(
            family="standard", path=f"standard.triggers.{path}", arguments=arguments, is_trigger=True, **given
        )

    def sensor(path: str, arguments: dict[str, Any], **given: Any) -> ProviderRow:
        return ProviderRow(
            family="standard",
            path=f"standard.sensors.{path}",
            arguments=arguments,
            connections=connections,
            **given,
        )

    yield trigger("temporal.DateTimeTrigger", {"moment": _MOMENT})
    yield trigger("temporal.TimeDeltaTrigger", {"delta": _duration(1)})
    yield trigger("file.FileTrigger", {"filepath": str(folder / "*.csv"), "poke_interval": 0.5})
    for name in ("FileDeleteTrigger", "DirectoryFileDeleteTrigger"):
        path = folder / f"{name}.go"
        path.touch()
        arguments = {"filepath": str(path)} if name == "FileDeleteTrigger" else {"directory": str(folder)}
        arguments |= {} if name == "FileDeleteTrigger" else {"filename": path.name}
        yield trigger(f"file.{name}", arguments | {"poke_interval": 0.5})
    yield sensor(
        "filesystem.FileSensor",
        {"filepath": str(folder / "late.csv"), "deferrable": True, "poke_interval": 1.0},
        prepare=lambda: _later(folder / "late.csv", servers),
        defers=["FileTrigger"],
    )
    yield sensor("date_time.DateTimeSensorAsync", {"target_time": "2026-11-26T00:00:00+00:00"})
    yield sensor("time.TimeSensor", {"target_time": {"__type": "time", "__var": "00:00:00"}, "deferrable": True})
    yield sensor("time_delta.TimeDeltaSensor", {"delta": _duration(30), "deferrable": True})
    yield sensor("time_delta.WaitSensor", {"time_to_wait": _duration(1), "deferrable": True})


def _later(path: Path, servers: RowServers) -> None:
    """Create a file after its sensor has waited for it."""

    def create() -> None:
        for _ in range(600):
            if servers.has_deferred("standard.sensors.filesystem.FileSensor"):
                path.touch()
                return
            time.sleep(0.5)

    threading.Thread(target=create, daemon=True).start()


def sql(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of SQL, against PostgreSQL."""
    url = servers.postgresql
    connections = {"warehouse": url.replace("postgresql://", "postgres://")}
    yield ProviderRow(
        family="common.sql",
        path="common.sql.triggers.sql.SQLExecuteQueryTrigger",
        arguments={"sql": "SELECT generate_series(1, 3)", "conn_id": "warehouse"},
        connections=connections,
        is_trigger=True,
        result={"status": "success"},
    )
    yield ProviderRow(
        family="common.sql",
        path="common.sql.operators.generic_transfer.GenericTransfer",
        arguments={
            "sql": "SELECT generate_series AS n FROM generate_series(1, 5)",
            "destination_table": "copied",
            "source_conn_id": "warehouse",
            "destination_conn_id": "warehouse",
            "preoperator": "CREATE TABLE IF NOT EXISTS copied (n int)",
            "page_size": 2,
            "deferrable": True,
        },
        connections=connections,
        defers=["SQLExecuteQueryTrigger"],
    )


def redis(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of Redis."""

    def publish() -> None:
        import redis as client  # noqa: PLC0415 - of the providers' environment

        def repeat() -> None:
            connection = client.Redis.from_url(servers.redis)
            for _ in range(600):
                if connection.publish("events", "rows") > 0:
                    return
                time.sleep(0.5)

        threading.Thread(target=repeat, daemon=True).start()

    yield ProviderRow(
        family="redis",
        path="redis.triggers.redis_await_message.AwaitMessageTrigger",
        arguments={"channels": ["events"], "redis_conn_id": "events", "poll_interval": 0.2},
        connections={"events": servers.redis},
        is_trigger=True,
        prepare=publish,
        result={"data": "rows"},
    )


def files_over_ssh(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of SFTP and SSH."""
    server = servers.ssh
    folder = server.folder
    (folder / "there.csv").write_text("1,2")
    fields = {"host": "127.0.0.1", "port": server.port, "login": ssh.USER, "password": ssh.PASSWORD}
    extra = {"no_host_key_check": "true"}
    connections = {
        "sftp_one": json.dumps({"conn_type": "sftp", **fields, "extra": extra}),
        "ssh_one": json.dumps({"conn_type": "ssh", **fields, "extra": extra}),
    }

    def row(path: str, arguments: dict[str, Any], **given: Any) -> ProviderRow:
        return ProviderRow(family="sftp", path=path, arguments=arguments, connections=connections, **given)

    yield row(
        "sftp.triggers.sftp.SFTPTrigger",
        {"path": str(folder), "file_pattern": "*.csv", "sftp_conn_id": "sftp_one", "poke_interval": 1},
        is_trigger=True,
        result={"status": "success"},
    )
    yield row(
        "sftp.sensors.sftp.SFTPSensor",
        {"path": str(folder / "there.csv"), "sftp_conn_id": "sftp_one", "deferrable": True, "poke_interval": 1.0},
    )
    yield row(
        "sftp.operators.sftp.SFTPOperator",
        {
            "ssh_conn_id": "sftp_one",
            "local_filepath": str(folder / "there.csv"),
            "remote_filepath": str(folder / "copy.csv"),
            "operation": "put",
            "deferrable": True,
        },
        defers=["SFTPTransferTrigger"],
    )
    yield row(
        "ssh.operators.ssh_remote_job.SSHRemoteJobOperator",
        {"ssh_conn_id": "ssh_one", "command": "sleep 1; echo done", "poll_interval": 1, "remote_os": "posix"},
        defers=["SSHRemoteJobTrigger"],
    )
