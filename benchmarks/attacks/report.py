"""Formats the measurements as a table and as JSON. Pure."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.harness.figures import markdown, quantile

GOAL = 2.0
LIMITS: Mapping[str, int] = {"operator": 512, "triggerer": 512, "archive": 768}
"""MiB that the manifests allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Seconds of each run of the bystander namespace; the last `unfinished` of them were given up."""

    seconds: tuple[float, ...]
    unfinished: int = 0

    @property
    def median(self) -> float:
        """Seconds that half of the runs took at most."""
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        """Seconds that nineteen of twenty took at most: of fewer runs the longest."""
        return quantile(self.seconds, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackPhase:
    """The bystander namespace's runs, and the most MiB that each process had meanwhile, its children among it."""

    latencies: Latencies
    memory: Mapping[str, float]
    foreign: float
    """How many processors what is not the bench's used meanwhile: figures compare where both phases had few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCosts:
    """One attack: before it, during it, and what became of it."""

    name: str
    what: str
    quiet: AttackPhase
    attacked: AttackPhase
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def ratio(self) -> float:
        """The median during the attack in quiet medians; no less than this where runs were given up."""
        return self.attacked.latencies.median / self.quiet.latencies.median

    @property
    def p95_ratio(self) -> float:
        """The same of the p95."""
        return self.attacked.latencies.p95 / self.quiet.latencies.p95


def table(taken: Sequence[AttackCosts]) -> str:
    """Markdown, a row for each attack."""
    memory = [f"{name}, MiB of {most}" for name, most in LIMITS.items()]
    heads = (
        "attack",
        "quiet, median (p95)",
        "during it",
        f"ratio (goal: under {GOAL:g})",
        *memory,
        "others' CPUs",
        "what became of it",
    )
    return markdown(heads, map(_row, taken))


def rows(taken: Sequence[AttackCosts]) -> list[dict[str, Any]]:
    """What was measured, and what follows from it."""
    return [_figures(attack) | asdict(attack) for attack in taken]


def _figures(costs: AttackCosts) -> dict[str, Any]:
    figures = {"ratio": costs.ratio, "p95_ratio": costs.p95_ratio}
    for name, phase in {"quiet": costs.quiet, "attacked": costs.attacked}.items():
        figures |= {f"{name}_median": phase.latencies.median, f"{name}_p95": phase.latencies.p95}
    return {name: round(value, 4) for name, value in figures.items()}


def _row(costs: AttackCosts) -> tuple[str, ...]:
    memory = (f"{costs.attacked.memory[name]:.0f} (quiet {costs.quiet.memory[name]:.0f})" for name in LIMITS)
    ratio = f"{costs.ratio:.2f} ({costs.p95_ratio:.2f})"
    shown = f"**{ratio}**" if costs.ratio >= GOAL else ratio
    foreign = f"{costs.attacked.foreign:.2f} (quiet {costs.quiet.foreign:.2f})"
    return costs.what, _span(costs.quiet), _span(costs.attacked), shown, *memory, foreign, "; ".join(costs.notes)


def _span(phase: AttackPhase) -> str:
    latencies = phase.latencies
    given_up = f", {latencies.unfinished} of {len(latencies.seconds)} given up" if latencies.unfinished else ""
    return f"{1000 * latencies.median:,.0f} ms ({1000 * latencies.p95:,.0f} ms){given_up}"
