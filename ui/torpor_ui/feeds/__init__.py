"""Live state of the cluster, shared by the viewers of one identity."""
