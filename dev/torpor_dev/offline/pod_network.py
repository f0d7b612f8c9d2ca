"""Configures the pod network without kind's network daemon, whose image is in a registry.

A bridge on each node with static routes is enough for nodes that share a Docker network. A restart of a node removes
routes and addresses, so this runs on every start.
"""

import json
from collections.abc import Mapping

from torpor_dev import command

_FILE = "/etc/cni/net.d/10-bridge.conflist"


def conflist(subnet: str) -> str:
    """The CNI configuration of one node."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": subnet}]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": "bridge", "plugins": [bridge, portmap]})


def script(node: str, subnets: Mapping[str, str], addresses: Mapping[str, str]) -> str:
    """The script that configures the subnet of a node and its routes to the others."""
    written = f"printf %s '{conflist(subnets[node])}' > {_FILE}.new"
    moved = f"cmp -s {_FILE}.new {_FILE} && rm {_FILE}.new || mv {_FILE}.new {_FILE}"
    routes = [
        f"ip route replace {subnet} via {addresses[other]}"
        for other, subnet in sorted(subnets.items())
        if other != node
    ]
    return "\n".join(["set -e", written, moved, *routes])


def apply(subnets: Mapping[str, str]) -> None:
    """Configure every node; `subnets` are the pod CIDRs by the name of the node."""
    addresses = {node: _address(node) for node in subnets}
    for node in subnets:
        command.run("docker", "exec", "-i", node, "sh", "-s", limit=30, stdin=script(node, subnets, addresses))


def _address(node: str) -> str:
    form = "{{.NetworkSettings.Networks.kind.IPAddress}}"
    return command.run("docker", "inspect", "--format", form, node, limit=30).strip()
