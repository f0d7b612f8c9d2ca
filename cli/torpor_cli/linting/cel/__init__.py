"""Evaluates the CEL rules of Torpor's CRD and admission policies as the API server does.

The API server offers more than the CEL library of the operator: comprehensions with two variables and functions of
lists. So the library parses, and this package evaluates.
"""
