"""The sentences of policy torpor-workflow, for the reference of fields. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_OF_TASK = re.compile(r"\['[\w.]*', 'task ' \+ t\.name \+ ': ([^']*)'(?: \+ '([^']*)')?\]")
_OF_SPEC = re.compile(r"\[\['[\w.]*', '((?!spec\.workflow)[^']*)'\]\]")


def of_workflow(policy: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    """Return the sentences by the path of their object, without those that quote values of the object."""
    texts = [variable["expression"] for variable in policy["spec"]["variables"]]
    return {
        "spec": [sentence for text in texts for sentence in _OF_SPEC.findall(text)],
        "spec.tasks[]": ["".join(parts) for text in texts for parts in _OF_TASK.findall(text)],
    }
