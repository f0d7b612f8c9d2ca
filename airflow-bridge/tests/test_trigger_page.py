"""The page with the trigger classes of the installed providers."""

import torpor_airflow  # noqa: F401 - before Airflow
from torpor_airflow.triggers import page

ROWS = [
    ("airflow.providers.cncf.kubernetes.triggers.pod.KubernetesPodTrigger", "needs a connection", "conn_id"),
    ("airflow.providers.http.triggers.http.HttpTrigger", "as is", ""),
    ("airflow.providers.http.triggers.other.*", "cannot", "the import fails: <no|such>"),
]


def test_each_provider_has_a_table_with_what_its_classes_need() -> None:
    text = page.page(ROWS, {"http": "6.3.0", "cncf-kubernetes": "10.9.0"})
    assert "3 trigger classes of 2 providers: 1 run as they are,\n1 need a connection, and 1 cannot run." in text
    assert "## cncf.kubernetes 10.9.0" in text
    assert "| `http.HttpTrigger` | as is |  |" in text
    assert "| `other.*` | cannot | the import fails: (no/such) |" in text
