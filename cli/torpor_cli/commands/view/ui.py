"""`torpor ui`."""

import asyncio
from contextlib import suppress

import click

from torpor_cli import errors, output
from torpor_cli.cluster import archive
from torpor_cli.cluster.connect import connect
from torpor_cli.options import ClusterCommand
from torpor_cli.target import TargetOptions


@click.command("ui", cls=ClusterCommand)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1; by default a free one.")
@click.option("--no-browser", is_flag=True, help="Print the link, and do not open it.")
@click.option("--read-only", is_flag=True, help="Show everything and change nothing.")
@click.pass_obj
def ui_command(target: TargetOptions, port: int, no_browser: bool, read_only: bool) -> None:
    """Open the page that shows what runs, what waits, and why, in a browser.

    The page is served on 127.0.0.1 until you press Ctrl-C. It uses the credentials of your kubeconfig.
    """
    cluster = connect(target)
    try:
        from torpor_ui import local  # noqa: PLC0415 - an extra of this package

        from torpor_cli.cluster.endpoint import endpoint_of  # noqa: PLC0415 - it needs the extra, too
    except ImportError as error:
        raise errors.CliError(
            f"`torpor ui` needs the package {error.name}; install the extra: pip install 'kubectl-torpor[ui]'"
        ) from error
    options = local.LocalOptions(
        port=port,
        namespace=cluster.namespace,
        system=archive.system_namespace(),
        read_only=read_only,
        open_browser=not no_browser,
    )
    serving = local.serve(endpoint_of(cluster.access), options, _announce)
    with suppress(KeyboardInterrupt):
        try:
            asyncio.run(serving)
        except OSError as error:
            raise errors.CliError(f"cannot serve on port {port}: {error.strerror}; choose --port") from error


def _announce(link: str) -> None:
    output.line(f"{link}\nThe link works once. Ctrl-C ends the page.")
    output.flush()
