"""An SSH and SFTP server on loopback, whose files are those of a folder."""

import asyncio
import threading
from pathlib import Path

import asyncssh

USER, PASSWORD = "ann", "c0rrect-horse"


class _PasswordServer(asyncssh.SSHServer):
    """Knows one user."""

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)


class SshServer:
    """Runs commands in the bash of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._server = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(60)
        self.port = int(self._server.get_port())

    async def _start(self) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=_PasswordServer,
            server_host_keys=[self._key],
            sftp_factory=True,
            process_factory=self._run,
        )

    async def _run(self, process: "asyncssh.SSHServerProcess[bytes]") -> None:
        command = await asyncio.create_subprocess_exec(
            "/bin/bash",
            "-c",
            process.command or "true",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.folder,
        )
        await process.redirect(stdin=command.stdin, stdout=command.stdout, stderr=command.stderr)
        process.exit(await command.wait())

    def close(self) -> None:
        """Stop the server."""
        self._loop.call_soon_threadsafe(self._server.close)
