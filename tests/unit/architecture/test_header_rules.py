"""The policy on Workflows and the HTTP client refuse the same headers."""

import re
from pathlib import Path

from torpor.triggers.support import header_rules

_POLICY = Path(__file__).resolve().parents[3] / "manifests/base/policies/workflow.yaml"


def test_the_workflow_policy_lists_the_headers_that_the_client_refuses() -> None:
    listed = re.search(r"- name: clientHeaders.*?\[(.*?)\]", _POLICY.read_text(), re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"'([^']+)'", listed.group(1))) == header_rules.CLIENT_OWNED
