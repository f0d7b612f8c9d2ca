"""One running trigger, and the waits that it looks for: what is known of it, and nothing of what is to be done."""

import asyncio
from collections.abc import Hashable
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

from torpor_triggerer.journal import Journal, Page
from torpor_triggerer.lent import Lent
from torpor_triggerer.wait import Asked

if TYPE_CHECKING:
    from torpor_triggerer.run import Run

_SHOWN = 8


@dataclass(slots=True, kw_only=True, eq=False)
class Poke:
    """`key` is what waits must agree in to share it, None where it is not to be shared.

    `closed`: nobody joins any more, for it has fired, failed, or is being stopped; `killed`: a person cancelled the
    last wait; `looking`: its task has begun.
    """

    key: Hashable
    asked: Asked
    namespace: str
    trigger: Any
    services: Lent
    journal: InitVar[Journal]
    page: Page = field(init=False)
    members: "list[Run]" = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    looking: bool = False
    closed: bool = False
    killed: bool = False

    def __post_init__(self, journal: Journal) -> None:
        self.page = journal.page(self)

    @property
    def name(self) -> str:
        """What the log calls it."""
        return f"poke {self.asked.key[:_SHOWN]}"

    @property
    def tag(self) -> str:
        """Whose its lines are: its only wait's, or its own where several share it."""
        if len(self.members) == 1:
            return self.members[0].wait.tag
        return f"[{self.namespace} {self.name}]"
