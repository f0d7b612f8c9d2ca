"""When logs that could not be read are read again."""

from torpor_archive.logs.queue import LogRetries

OPERATOR_KEEPS_PODS = 30.0


def test_the_first_retry_comes_before_the_operator_deletes_the_pod() -> None:
    retries = LogRetries()
    retries.failed("u", 100.0)
    assert retries.take_due(105.0) == []
    assert retries.take_due(100.0 + OPERATOR_KEEPS_PODS / 2) == ["u"]


def test_intervals_double() -> None:
    retries = LogRetries()
    for _ in range(3):
        retries.failed("u", 100.0)
    assert retries.take_due(139.0) == []
    assert retries.take_due(140.0) == ["u"]


def test_a_log_that_is_being_read_is_due_later() -> None:
    retries = LogRetries()
    retries.failed("u", 100.0)
    assert retries.take_due(110.0) == ["u"]
    assert retries.take_due(112.0) == []
    assert retries.take_due(120.0) == ["u"]


def test_a_log_that_was_read_is_forgotten() -> None:
    retries = LogRetries()
    retries.failed("u", 100.0)
    assert "u" in retries
    retries.forget("u")
    assert "u" not in retries
    assert retries.take_due(1000.0) == []
