"""Namespaces that a test controls, without an API server."""

from dataclasses import dataclass, field

from torpor_archive.namespaces import NamespaceId


@dataclass(slots=True)
class FixedNamespaces:
    """The uid of each namespace, by its name; `n1` by default."""

    uids: dict[str, str] = field(default_factory=dict)

    async def current(self, name: str) -> NamespaceId:
        return NamespaceId(name, self.uids.get(name, "n1"))

    async def of_object(self, name: str, created: str) -> NamespaceId:
        del created
        return await self.current(name)
