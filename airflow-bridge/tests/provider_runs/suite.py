"""Runs the rows family by family, and builds the page."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import torpor_airflow  # noqa: F401 - prepares the environment of Airflow before anything imports it
from torpor_airflow.check import prefork
from torpor_airflow.check.kept_rows import KeptRows

from provider_runs import families, installed, kept, local_runs, page
from provider_runs.row import ProviderRow, RowOutcome
from provider_runs.servers.certificate import LoopbackCertificate
from provider_runs.servers.started import RowServers


def run(  # noqa: PLR0913, PLR0917 - what a run consists of
    names: Sequence[str], only: str, keep: Path | None, stack: ExitStack, folder: Path, certificate: LoopbackCertificate
) -> Iterator[RowOutcome]:
    """Yield the outcome of each row. Servers and processes end with the stack."""
    versions = installed.versions()
    outcomes = KeptRows(row_type=RowOutcome, is_right=lambda row: row.is_right, path=keep)
    servers = RowServers(stack, folder, certificate)
    python = stack.enter_context(prefork.started(folder, {}, families.IMPORTS))
    for name, rows in families.all_rows(servers, names):
        wanted = [each for each in rows if only in each.key]
        keys = {each.key: kept.key_of(each, versions[each.provider.replace(".", "-")]) for each in wanted}
        unknown: list[ProviderRow] = []
        for each in wanted:
            found = outcomes.find(keys[each.key])
            if found is None:
                unknown.append(each)
            else:
                yield found
        if unknown:
            run_folder = folder / name.replace("/", "-")
            for outcome in local_runs.play(unknown, run_folder, python, servers):
                outcomes.add(keys[outcome.key], outcome)
                yield outcome


def page_of(outcomes: Sequence[RowOutcome]) -> str:
    """Return the page."""
    return page.page([*installed.classes(families.UNRUN)], outcomes, installed.versions())
