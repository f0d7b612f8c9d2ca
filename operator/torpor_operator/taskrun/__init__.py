"""The life of one TaskRun: its transitions and its pods. Pure."""
