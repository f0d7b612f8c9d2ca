"""Resolves Secret references and sealed values in trigger arguments."""
