"""`onthedot completion`: print the script by which a shell completes commands and options."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the shell completion of this command.

    Evaluate it in the start file of your shell, such as ~/.bashrc or ~/.zshrc. Fish reads files of its own.

    \b
    Examples:
      eval "$(onthedot completion bash)"
      eval "$(onthedot completion zsh)"
      onthedot completion fish > ~/.config/fish/completions/onthedot.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "onthedot", "_ONTHEDOT_COMPLETE").source())
