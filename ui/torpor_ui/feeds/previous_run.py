"""Finds the run before a run: of the same Schedule, else of the same template."""

from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import constants, names, times

from torpor_ui.cluster.archive import ArchiveReader
from torpor_ui.errors import ProblemError
from torpor_ui.presentation import run_rows
from torpor_ui.presentation.run_rows import RunRow

_PAGES = 4
"""Pages of the list of Workflows that are read at most. The runs of a template have no label of it."""


async def find_previous(api: Api, archive: ArchiveReader, run: RunRow) -> str | None:
    """Return the key of the run before, live or archived; None without one, or without the right to list."""
    if not run.schedule and not run.template:
        return None
    selector = f"{constants.LABEL_SCHEDULE}={names.label(run.schedule)}" if run.schedule else ""
    earlier: list[RunRow] = []
    pages = api.pages(WORKFLOWS, run.namespace, label_selector=selector)
    try:
        for _ in range(_PAGES):
            page = await anext(pages, None)
            if page is None:
                break
            earlier += [row for row in map(run_rows.live, page.items) if _is_earlier(row, run)]
    except api_errors.ApiError:
        return None
    finally:
        await pages.aclose()
    latest = max(earlier, key=lambda row: row.created or 0.0, default=None)
    return latest.key if latest else await _archived(archive, run, selector)


async def _archived(archive: ArchiveReader, run: RunRow, selector: str) -> str | None:
    if not selector or run.created is None:
        return None
    try:
        items, _ = await archive.runs(
            run.namespace, {"labels": selector, "until": times.rfc3339(run.created), "limit": "1"}
        )
    except ProblemError:
        return None
    return run_rows.archived(items[0]).key if items else None


def _is_earlier(row: RunRow, run: RunRow) -> bool:
    same = row.schedule == run.schedule if run.schedule else row.template == run.template and not row.schedule
    return same and row.uid != run.uid and (row.created or 0.0) < (run.created or 0.0)
