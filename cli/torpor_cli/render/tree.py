"""The tree of a run as lines of text: one line for the run, a group, a task or an instance. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torpor_views import counts
from torpor_views.model import RunView, TriggerView
from torpor_views.tree import NodeKind, RunTree, TreeNode
from torpor_wire import times
from torpor_wire.reason import Reason
from torpor_wire.text import printable_line

from torpor_cli import table

_STATE = len("UpstreamFailed")
_DURATION = len("100d23h")
_DETAILS_MIN = 8
_WAITS_AS_IT_SHOULD = frozenset({"", Reason.WAITING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The characters that draw the tree."""

    child: str
    last: str
    beside: str
    blank: str


UNICODE = Branches(child="├─ ", last="└─ ", beside="│  ", blank="   ")
ASCII = Branches(child="|- ", last="`- ", beside="|  ", blank="   ")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How lines are drawn. `width`: columns of the terminal, to which details are cut; 0 without a terminal."""

    branches: Branches = UNICODE
    coloured: bool = False
    wide: bool = False
    width: int = 0
    state: str = ""
    """State of the run, where it says more than the tree's."""
    why: str = ""
    """Why the run does not continue, where it has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """A line before it is padded."""

    name: str
    state: str
    duration: str
    details: str
    attempt: str = ""
    taskrun: str = ""


def lines(tree: RunTree, options: RenderOptions, *, waits: dict[str, str] | None = None, minimum: int = 0) -> list[str]:
    """Return the heading and the lines of a tree. `waits`: what deferred TaskRuns wait for, by name.

    `minimum` is the width of the first column at least.
    """
    rows = [_root(tree, options), *_rows(tree.nodes, "", options.branches, waits or {})]
    return _padded(rows, options, minimum)


def name_width(tree: RunTree, options: RenderOptions) -> int:
    """Return the width of the first column."""
    return max(len(row.name) for row in [_root(tree, options), *_rows(tree.nodes, "", options.branches, {})])


def head(tree: RunTree, options: RenderOptions) -> list[str]:
    """Return the heading and the line of the run, as `lines` begins for this width of names."""
    return _padded([_root(tree, options)], options, name_width(tree, options))


def _root(tree: RunTree, options: RenderOptions) -> TreeRow:
    progress = tree.progress or f"{tree.counts.done}/{tree.counts.total}"
    why = options.why or (tree.message if tree.state == "Failed" else "")
    return TreeRow(
        name=printable_line(tree.name),
        state=options.state or tree.state,
        duration=_duration(tree.duration),
        details=f"{progress}  {one_line(why)}".rstrip(),
    )


def _rows(nodes: Sequence[TreeNode], indent: str, branches: Branches, waits: dict[str, str]) -> Iterator[TreeRow]:
    for place, node in enumerate(nodes):
        last = place == len(nodes) - 1
        yield TreeRow(
            name=f"{indent}{branches.last if last else branches.child}{_label(node)}",
            state=node.state,
            duration=_duration(node.duration),
            details=_details(node, waits),
            attempt=str(node.attempt or ""),
            taskrun=printable_line(node.taskrun),
        )
        below = indent + (branches.blank if last else branches.beside)
        yield from _rows(node.children, below, branches, waits)
        if node.children and node.hidden and node.kind is NodeKind.TASK:
            yield TreeRow(name=f"{below}... {node.hidden} more", state="", duration="", details="")


def _label(node: TreeNode) -> str:
    return printable_line(f"[{node.label}]" if node.kind is NodeKind.GROUP else node.label)


def _details(node: TreeNode, waits: dict[str, str]) -> str:
    parts = [counts.summary(node.counts)] if node.folded else []
    wait = waits.get(node.taskrun)
    if wait and node.reason in _WAITS_AS_IT_SHOULD:
        parts.append(waits_for(wait))
    elif node.state not in {"Succeeded", "Running"} or node.reason not in {"", "Succeeded"}:
        parts.append(_why(node))
    if node.hook:
        parts.append(f"hook for {node.hook}")
    return "  ".join(map(one_line, filter(None, parts)))


def _why(node: TreeNode) -> str:
    """The reason and the message, which often begins with it. A reason that is the state itself is left out."""
    if node.message.startswith(node.reason) or node.reason == node.state:
        return node.message
    return ": ".join(filter(None, (node.reason, node.message)))


def one_line(text: str) -> str:
    """Return foreign text as a printable line: a space for each line break."""
    return printable_line(" ".join(text.split()))


def waits_of(run: RunView) -> dict[str, str]:
    """Return what deferred instances wait for, by the names of their TaskRuns. A past moment is marked as over."""
    triggers = ((instance, instance.trigger) for instance in run.all_instances())
    return {
        instance.name: _waited_for(trigger, run.now) for instance, trigger in triggers if trigger and trigger.waits_for
    }


def _waited_for(trigger: TriggerView, now: float) -> str:
    late = 0.0 if trigger.moment is None else now - trigger.moment
    return f"{trigger.waits_for} ({times.human(late)} ago)" if late >= 1 else trigger.waits_for


def waits_for(wait: str) -> str:
    """Return a sentence for the text of `status.trigger.waitsFor`, which may begin with `until`."""
    return f"waits {wait}" if wait.startswith("until ") else f"waits for {wait}"


def _duration(seconds: float | None) -> str:
    return "" if seconds is None else times.human(seconds)


def _padded(rows: Sequence[TreeRow], options: RenderOptions, minimum: int) -> list[str]:
    widths = [max(minimum, *(len(row.name) for row in rows)), _STATE, _DURATION + 1]
    if options.wide:
        widths += [len("ATTEMPT"), max(len("TASKRUN"), *(len(row.taskrun) for row in rows))]
    heading = TreeRow(
        name="NAME", state="STATE", duration="DURATION", details="DETAILS", attempt="ATTEMPT", taskrun="TASKRUN"
    )
    return [_line(row, options, widths) for row in (heading, *rows)]


def _line(row: TreeRow, options: RenderOptions, widths: Sequence[int]) -> str:
    """Return a line. On a terminal its details are cut at the width, with an ellipsis."""
    cells = [row.name, printable_line(row.state), row.duration, *((row.attempt, row.taskrun) if options.wide else ())]
    used = sum(max(len(cell), width) + len(table.GAP) for cell, width in zip(cells, widths, strict=True))
    details = table.cut(row.details, max(options.width - used, _DETAILS_MIN)) if options.width else row.details
    return table.line([*cells, details], widths, state_at=1 if options.coloured else None)
