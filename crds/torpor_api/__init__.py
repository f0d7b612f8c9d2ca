"""The two objects as Python types, the CRDs made from them, and the one client that reads and writes them."""
