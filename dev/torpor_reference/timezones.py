"""The policy torpor-timezone, with the names of all time zones. Pure, except that it reads the list of tzdata.

The API server could look zones up in its own database, but would then reject an unknown one with an error of CEL
instead of a sentence. The list is that of the database in the operator's image.
"""

import textwrap
from importlib import resources

_HEADER = "# Generated from tzdata by `make generate`; edit dev/torpor_reference/timezones.py instead.\n"
_POLICY = """\
# Rejects unknown time zones of Schedules. The list is that of the tzdata in the operator's image.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: torpor-timezone
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [torpor.dev]
      apiVersions: ["*"]
      operations: [CREATE, UPDATE]
      resources: [schedules]
  matchConditions:
  # An update that keeps the sources is always admitted, so that nothing here blocks a deletion.
  - name: sources-changed
    expression: oldObject == null || object.spec.sources != oldObject.spec.sources
  variables:
  - name: known
    expression: >-
{known}
  - name: unknown
    expression: object.spec.sources.filter(s, has(s.timezone) && !(s.timezone in variables.known))
  validations:
  - expression: variables.unknown.size() == 0
    reason: Invalid
    messageExpression: >-
      'source ' + variables.unknown[0].name + ': timezone "' + variables.unknown[0].timezone
      + '" is unknown; use an IANA name such as Europe/Berlin'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: torpor-timezone
spec:
  policyName: torpor-timezone
  validationActions: [Deny]
"""


def policy() -> str:
    """Return the YAML of the policy."""
    listed = textwrap.fill(
        "[" + ", ".join(f"'{name}'" for name in names()) + "]",
        width=120,
        initial_indent=" " * 6,
        subsequent_indent=" " * 6,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return _HEADER + _POLICY.format(known=listed)


def names() -> list[str]:
    """Return the names of all time zones, sorted."""
    return sorted(resources.files("tzdata").joinpath("zones").read_text().split())
