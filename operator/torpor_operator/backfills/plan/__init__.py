"""Decides which runs a Backfill creates, and computes its status. Pure."""
