"""Runs an operator by Airflow's own task runner in this process, and returns how its segment ended."""

import logging
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import structlog
from airflow import settings
from airflow.sdk._shared.logging.structlog import LEVEL_TO_FILTERING_LOGGER
from airflow.sdk.configuration import conf
from airflow.sdk.execution_time import comms, task_runner
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from torpor_airflow import no_database
from torpor_airflow.operators import child_requests, hidden_texts, xcom_errors
from torpor_airflow.operators.supervisor import InProcessSupervisor


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEnd:
    """The last message to Airflow's supervisor, and what the operator raised.

    `skip_reason` is the text of an AirflowSkipException. `is_last` says whether no attempt follows this one.
    """

    message: Any
    error: BaseException | None
    skip_reason: str
    is_last: bool = False

    @property
    def is_skipped(self) -> bool:
        """Whether the task skipped itself."""
        return isinstance(self.message, comms.TaskState) and self.message.state.value == "skipped"

    @property
    def forbids_retry(self) -> bool:
        """Whether Airflow ends the task in an attempt that another one could follow."""
        return not self.is_last and not isinstance(self.message, comms.RetryTask)


def run(instance: RuntimeTaskInstance, supervisor: InProcessSupervisor) -> SegmentEnd:
    """Run a segment. Exceptions of the operator are part of what is returned."""
    log = _ReasonLog(structlog.get_logger(logger_name="task"))
    _configure()
    with (
        _supervised(supervisor),
        _own_signals(),
        hidden_texts.redacted_streams(),
        xcom_errors.named(),
        child_requests.answered(instance.task, supervisor),
    ):
        context = instance.get_template_context()
        state, message, error = task_runner.run(instance, context, log)
        if not isinstance(message, comms.DeferTask | comms.RescheduleTask) and not isinstance(error, SystemExit):
            task_runner.finalize(instance, state, context, log, error)
    given = instance._ti_context_from_server  # noqa: SLF001 - no public form
    return SegmentEnd(
        message=message,
        error=error,
        skip_reason=log.reason,
        is_last=given is not None and not given.should_retry,
    )


def render(instance: RuntimeTaskInstance, supervisor: InProcessSupervisor, values: Mapping[str, Any]) -> Any:
    """Return the values with their templates rendered, as those of the operator are."""
    _configure()
    with _supervised(supervisor):
        context = instance.get_template_context()
        return instance.task.render_template(dict(values), context, instance.task.dag.get_template_env())


class _ReasonLog:
    """A logger that remembers why the task was skipped, which Airflow only logs."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self.reason = ""

    def info(self, event: str, **fields: Any) -> None:
        if event.startswith("::"):  # the groups of Airflow's page
            return
        if event == "Skipping task.":
            self.reason = str(fields.get("reason", ""))
        self._log.info(event, **fields)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


@contextmanager
def _supervised(supervisor: InProcessSupervisor) -> Iterator[None]:
    task_runner.SUPERVISOR_COMMS = supervisor
    try:
        yield
    finally:
        task_runner.SUPERVISOR_COMMS = None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the runtime's handler of SIGTERM, which ends the operator. Airflow's would only call `on_kill`."""
    real = signal.signal

    def keep_terminate(number: Any, handler: Any) -> Any:
        return signal.getsignal(number) if number == signal.SIGTERM else real(number, handler)

    with patch.object(signal, "signal", keep_terminate):
        yield


def _configure() -> None:
    """Refuse the database, set the folder of plugins, and log to the pod's output with Airflow's masks of secrets."""
    no_database.install()
    settings.PLUGINS_FOLDER = settings.PLUGINS_FOLDER or conf.get("core", "plugins_folder")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
        ],
        wrapper_class=LEVEL_TO_FILTERING_LOGGER[logging.INFO],  # operators use methods that only Airflow's has
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(_RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.INFO)


class _RedactingFormatter(logging.Formatter):
    """Redacts lines with their tracebacks. The filter of Airflow does nothing unless its own logging is set up."""

    def format(self, record: logging.LogRecord) -> str:
        return hidden_texts.redact(super().format(record))
