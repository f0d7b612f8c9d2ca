"""The outcome that a container wrote: its result, or a document. Pure."""
