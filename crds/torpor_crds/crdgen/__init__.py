"""Generates the CustomResourceDefinitions from the models."""
