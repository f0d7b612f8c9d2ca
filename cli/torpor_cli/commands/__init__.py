"""The commands; `command_table` names the module of each."""
