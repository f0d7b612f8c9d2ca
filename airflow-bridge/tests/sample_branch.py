"""An operator that chooses between its downstream tasks."""

from typing import Any

from airflow.providers.standard.operators.branch import BaseBranchOperator


class ChoosingOperator(BaseBranchOperator):
    """Chooses what it is given."""

    def __init__(self, *, choice: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choice = choice

    def choose_branch(self, context: Any) -> Any:
        return self.choice
