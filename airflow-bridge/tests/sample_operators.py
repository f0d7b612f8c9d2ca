"""Operators for tests: each does one thing that an operator of Airflow may do."""

import asyncio
import os
import signal
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk import BaseOperator, BaseOperatorLink, BaseSensorOperator, Connection, Variable, serde
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk.execution_time.xcom import XCom


@dataclass
class Rows:
    """An object that only Airflow's serde can encode."""

    count: int


serde.allow_class(Rows)


class TemplatedOperator(BaseOperator):
    """Returns its rendered text."""

    template_fields = ("text",)

    def __init__(self, *, text: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text

    def execute(self, context: Any) -> Any:
        return self.text


class PushingOperator(BaseOperator):
    """Pushes an XCom beside its result."""

    def execute(self, context: Any) -> Any:
        context["ti"].xcom_push("rows", 3)
        return "done"


class RaisingOperator(BaseOperator):
    """Raises an exception of Airflow, or of Python, by name."""

    def __init__(self, *, error: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.error = error

    def execute(self, context: Any) -> Any:
        password = context["params"].get("password")
        assert password != self.error
        known = {"fail": AirflowFailException, "skip": AirflowSkipException, "retry": AirflowException}
        raise known.get(self.error, ValueError)(f"because of {self.error}")


class DeferringOperator(BaseOperator):
    """Pushes an XCom, defers, and returns what it resumed with."""

    def execute(self, context: Any) -> Any:
        context["ti"].xcom_push("before", "the wait")
        self.defer(
            trigger=TimeDeltaTrigger(timedelta(milliseconds=10)),
            method_name="resumed",
            kwargs={"rows": Rows(count=3)},
            timeout=timedelta(hours=1),
        )

    def resumed(self, context: Any, event: Any, rows: Any) -> Any:
        return {"event": type(event).__name__, "rows": rows.count}


class StoringOperator(BaseOperator):
    """Stores state, defers, and returns what the store has then."""

    def execute(self, context: Any) -> Any:
        store = context["task_state_store"]
        assert store.get("job", default="none") == "none"
        store.set("job", "j-1")
        store.set("old", 1)
        store.delete("old")
        self.defer(trigger=TimeDeltaTrigger(timedelta(milliseconds=10)), method_name="resumed")

    def resumed(self, context: Any, event: Any) -> Any:
        store = context["task_state_store"]
        found = [store.get("job"), store.get("old")]
        store.clear()
        return [*found, store.get("job")]


class SleepingOperator(BaseOperator):
    """Takes a minute."""

    def execute(self, context: Any) -> Any:
        time.sleep(60)


class StoppedOperator(BaseOperator):
    """Gets SIGTERM while it runs, and leaves a file when it is killed."""

    def __init__(self, *, marker: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.marker = marker

    def execute(self, context: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)

    def on_kill(self) -> None:
        Path(self.marker).touch()


class Unserializable:
    """An object that no serializer knows."""


class ObjectOperator(BaseOperator):
    """Returns an object that no serializer knows, or pushes it with a key."""

    def __init__(self, key: str = "", awaits: bool = False, within: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.key = key
        self.awaits = awaits
        self.within = within

    def execute(self, context: Any) -> Any:
        value = {"rows": [Unserializable()]} if self.within else Unserializable()
        if self.awaits:
            return asyncio.run(context["ti"].axcom_push(self.key, value))
        return context["ti"].xcom_push(self.key, value) if self.key else value


class DatabaseOperator(BaseOperator):
    """Opens a session of Airflow's database."""

    def execute(self, context: Any) -> Any:
        from airflow.utils.session import create_session  # noqa: PLC0415 - as providers do

        with create_session() as session:
            return session


class ApiOperator(BaseOperator):
    """Asks Airflow's API for another run."""

    def execute(self, context: Any) -> Any:
        return context["ti"].get_dr_count(dag_id="other")


class SecretsOperator(BaseOperator):
    """Returns the host of a connection, and a Variable."""

    def execute(self, context: Any) -> Any:
        return [Connection.get("web").host, Variable.get("region")]


class LeakingOperator(BaseOperator):
    """Logs a password, and fails with it."""

    def execute(self, context: Any) -> Any:
        password = Connection.get("web").password
        self.log.info("it is %s", password)
        print(password)  # noqa: T201 - as programs do
        raise ValueError(f"the password is {password}")


class FieldsLeakingOperator(BaseOperator):
    """Fails with fields of the JSON of a connection and of a variable."""

    def execute(self, context: Any) -> Any:
        extra = Connection.get("web").extra_dejson
        settings = Variable.get("settings", deserialize_json=True)
        raise ValueError(f"{extra['authorization']} {settings['targets'][0]['api_key']} {extra['region']}")


class JobLink(BaseOperatorLink):
    """The link that the operator says, from its XCom."""

    name = "Job"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return str(XCom.get_value(ti_key=ti_key, key="job") or "")


class HelpLink(BaseOperatorLink):
    """A link that no run changes."""

    name = "Help"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return "javascript:alert(1)" if operator.url == "" else "https://help.example.org/"


class LinkedOperator(BaseOperator):
    """Has links, and fails if its argument says so."""

    operator_extra_links = (JobLink(), HelpLink())

    def __init__(self, *, url: str, fails: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url = url
        self.fails = fails

    def execute(self, context: Any) -> Any:
        context["ti"].xcom_push("job", self.url)
        if self.fails:
            raise ValueError("no job")
        return 3


class SecretDeferringOperator(BaseOperator):
    """Hands the password of a connection to its trigger, as a rendered header does."""

    def execute(self, context: Any) -> Any:
        from sample_lookups import LookupTrigger  # noqa: PLC0415 - only this operator needs it

        password = Connection.get("web").password
        self.defer(trigger=LookupTrigger(variable=f"Bearer {password}"), method_name="resumed")


class PokingSensor(BaseSensorOperator):
    """Is true at its third poke."""

    def poke(self, context: Any) -> bool:
        return bool(context["task_reschedule_count"] >= 2)
