"""The command line: `kinfolk --help`."""

from kinfolk.cli.main import main

__all__ = ["main"]
