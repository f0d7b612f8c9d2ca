"""CEL expressions, alone or in `${…}` templates: syntax, references and evaluation.

The operator uses it for arguments, `when` and dependencies, the triggerer for conditions of triggers. These must not
import each other, so this is a separate component. It is pure except `evaluator.Evaluator`, which evaluates in child
processes that it can kill.
"""
