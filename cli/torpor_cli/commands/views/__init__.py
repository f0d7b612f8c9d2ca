"""Commands that show a run or a file as a picture."""
