"""`torpor completion`."""

import sys

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")
_HELP = """Print the completion script of a shell. It completes names of runs and tasks from the cluster.

\b
bash: source <(torpor completion bash)
zsh:  source <(torpor completion zsh)
fish: torpor completion fish | source
"""


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(_SHELLS))
def completion_command(shell: str) -> None:
    """Print the completion script of a shell."""
    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"no completion for {shell}")
    sys.stdout.write(f"{script(click.Command('torpor'), {}, 'torpor', '_TORPOR_COMPLETE').source()}\n")
