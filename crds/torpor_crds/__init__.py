"""The kinds of Torpor as Python types, and the generator of their CRDs."""
