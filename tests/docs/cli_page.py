"""Writes docs/cli.md from the help of every command: `python tests/docs/cli_page.py`."""

from __future__ import annotations

from pathlib import Path

import click

from kinfolk.cli.main import COMMANDS, cli

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

OPENING = """\
# Commands

Results go to stdout, progress and messages to stderr. The exit status is 0; 2 with one clear
message for anything that can be put right; 130 after Ctrl-C, SIGTERM or SIGHUP. Each text below is
what `--help` prints; `python tests/docs/cli_page.py` writes this page. Where the shell does not
find `kinfolk`, `python -m kinfolk` is the same.

## Completion

The shell completes commands and options once one of these lines, for bash, zsh or fish, stands in
its start file (`~/.bashrc`, `~/.zshrc`, `~/.config/fish/config.fish`):

```
eval "$(_KINFOLK_COMPLETE=bash_source kinfolk)"
eval "$(_KINFOLK_COMPLETE=zsh_source kinfolk)"
_KINFOLK_COMPLETE=fish_source kinfolk | source
```
"""


def page() -> str:
    """The whole page."""
    parts = [OPENING, _section("kinfolk", cli, None)]
    top = click.Context(cli, info_name="kinfolk", **cli.context_settings)
    parts += [_section(f"kinfolk {one.name}", one, top) for one in COMMANDS]
    return "\n".join(parts)


def _section(name: str, command: click.Command, parent: click.Context | None) -> str:
    # The width is given, so that the page does not depend on who writes it.
    settings = {**command.context_settings, "terminal_width": 100}
    context = click.Context(command, info_name=name.split()[-1], parent=parent, **settings)
    return f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
