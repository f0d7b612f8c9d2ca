"""Commands that show a run or a file as a graph, tree or chart."""
