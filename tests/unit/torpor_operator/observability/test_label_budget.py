"""Which label values have series of their own."""

import pytest
from torpor_operator.observability.label_budget import OTHER, LabelBudget


def test_the_first_values_of_a_namespace_keep_their_series() -> None:
    budget = LabelBudget(per_namespace=2)
    assert budget.admit("a", ("one", "")) == ("a", "one", "")
    assert budget.admit("a", ("two", "nightly")) == ("a", "two", "nightly")
    assert budget.admit("a", ("three", "")) == ("a", OTHER, "")
    assert budget.admit("a", ("one", "")) == ("a", "one", "")


def test_a_run_without_template_and_schedule_needs_no_share() -> None:
    budget = LabelBudget(per_namespace=0)
    assert budget.admit("a", ("", "")) == ("a", "", "")


@pytest.mark.attack
def test_a_flood_of_templates_costs_its_own_namespace_alone() -> None:
    budget = LabelBudget(per_namespace=10, total=25)
    flood = {budget.admit("noisy", (f"t{number}", "")) for number in range(10_000)}
    assert len(flood) == 11
    assert budget.admit("quiet", ("etl", "nightly")) == ("quiet", "etl", "nightly")


@pytest.mark.attack
def test_many_namespaces_together_stay_within_the_total() -> None:
    budget = LabelBudget(namespaces=5, per_namespace=10, total=20)
    labels = {budget.admit(f"n{namespace}", (f"t{number}", "")) for namespace in range(100) for number in range(100)}
    assert len(labels) <= 20 + 5 + 1
    assert (OTHER, OTHER, "") in labels
