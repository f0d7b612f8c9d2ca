"""The cluster, namespace and user that the options of the command line choose, as kubectl has them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import click


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOptions:
    """What the options of the command line say. None where they say nothing."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()

    def overridden(self, by: Mapping[str, Any]) -> "TargetOptions":
        """Return the target with the options that are set after the command."""
        values = {field.name: by.get(field.name) or getattr(self, field.name) for field in fields(self)}
        return TargetOptions(**values)


def target_of(ctx: click.Context) -> TargetOptions:
    """Return what the options of a context and of its parents say."""
    outer = ctx.obj if isinstance(ctx.obj, TargetOptions) else TargetOptions()
    if ctx.parent is not None and ctx.resilient_parsing:
        outer = target_of(ctx.parent)
    return outer.overridden(ctx.params)
