"""The expression language: CEL over values, in `${…}` templates and bare.

The operator plans with it (arguments, `when`, what a task depends on) and the triggerer waits with it (conditions over
Kubernetes objects). They may not import each other, so it is a component of its own. All of it is pure but
`evaluator.Evaluator`, which runs an expression in a child process that can be killed.
"""
