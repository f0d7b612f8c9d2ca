"""`torpor version`."""

import click

from torpor_cli import output
from torpor_cli.cluster.archive import system_namespace
from torpor_cli.cluster.connect import ClusterConnection, connect
from torpor_cli.cluster.errors import ClusterError
from torpor_cli.options import ClusterCommand
from torpor_cli.output import Format, output_option
from torpor_cli.target import TargetOptions


@click.command("version", cls=ClusterCommand)
@click.option("--client", "only_client", is_flag=True, help="Do not contact the cluster.")
@output_option(Format.JSON, Format.YAML)
@click.pass_obj
def version_command(target: TargetOptions, only_client: bool, output_format: str) -> None:
    """Print the versions of torpor and of the cluster."""
    from importlib.metadata import version  # noqa: PLC0415 - other commands do not need it

    versions = {"torpor": version("kubectl-torpor")}
    if not only_client:
        versions |= _server(connect(target))
    if output_format == Format.TEXT:
        output.print_table(["COMPONENT", "VERSION"], list(versions.items()))
    else:
        output.data(versions, output_format)


def _server(cluster: ClusterConnection) -> dict[str, str]:
    system = system_namespace()
    versions = {"kubernetes": cluster.api.http.json("GET", "/version")["gitVersion"]}
    try:
        operator = cluster.api.http.json("GET", f"/apis/apps/v1/namespaces/{system}/deployments/torpor-operator")
    except ClusterError:  # a user with `view` of one namespace may not read torpor-system
        return versions | {"operator": f"unknown: you may not read {system}, or Torpor is not installed"}
    return versions | {"operator": operator["spec"]["template"]["spec"]["containers"][0]["image"]}
