"""The entry point: one clear message and status 2 for anything the user can mend."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextvars import copy_context
from io import StringIO

import click

import kinfolk
from kinfolk.cli.audit import audit_command
from kinfolk.cli.console import tell
from kinfolk.cli.demo import demo
from kinfolk.cli.evaluate import evaluate_command
from kinfolk.cli.ledger import certificate, ledger_command
from kinfolk.cli.plan import plan_command
from kinfolk.cli.prepare import init, prepare, simulate_command
from kinfolk.cli.query import queries, query
from kinfolk.cli.reproduce import reproduce_command
from kinfolk.cli.synth import fit_command, sample_command, synth
from kinfolk.cli.validate import validate_command
from kinfolk.errors import KinfolkError, private, redacting

HELP = """Differentially private synthetic data that keeps groups together.

kinfolk takes two linked tables (households and their people, referrals and their children) and a
schema that declares what may stand in them.

\b
Start here:
  kinfolk demo                                         real data, nothing to set up
  kinfolk init HOUSEHOLDS PERSONS -o schema.yaml       draft a schema for your own tables
  kinfolk validate schema.yaml HOUSEHOLDS PERSONS      see what is left to mend
  kinfolk synth schema.yaml HOUSEHOLDS PERSONS ...     make synthetic tables
"""


@click.group(
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(kinfolk.__version__, message="kinfolk %(version)s")
def cli() -> None:
    """See HELP."""


COMMANDS = (
    demo,
    init,
    validate_command,
    queries,
    plan_command,
    synth,
    fit_command,
    sample_command,
    query,
    evaluate_command,
    certificate,
    ledger_command,
    audit_command,
    prepare,
    simulate_command,
    reproduce_command,
)

ENDINGS = ("SIGTERM", "SIGHUP")
"""How schedulers, containers and terminals end a process."""

for command in COMMANDS:
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit; whoever ends the process from outside is heard like Ctrl-C."""
    for name in ENDINGS:
        number = getattr(signal, name, None)
        # Where somebody ignores it on purpose, as nohup does, it stays ignored.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; no traceback reaches the user."""
    # What a command sets, such as redaction, ends with it.
    return copy_context().run(_run, arguments)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        # A command that ends with a status of its own gives it back; others give nothing.
        status = cli(args=arguments, prog_name="kinfolk", standalone_mode=False)
    except KinfolkError as error:
        tell(f"kinfolk: {error}")
        return 2
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        tell(shown.getvalue().rstrip("\n"))
        return 2
    except (KeyboardInterrupt, click.Abort):
        tell("kinfolk: stopped.")
        return 130
    except SystemExit:
        # How click and rich leave when the reader of our output has gone (`kinfolk ... | head`);
        # they have silenced stdout by then, and it is no mistake.
        return 0
    except FileExistsError as error:
        tell(f"kinfolk: {error.filename}: is a file, not a folder. Choose another folder.")
        return 2
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        reason = os.strerror(error.errno) if error.errno else private(error)
        tell(f"kinfolk: {place}{reason}. Check the path, its permissions and the space on disk.")
        return 2
    except Exception as error:
        # A traceback ends with the error's own words, which may show what is in the data.
        if os.environ.get("KINFOLK_DEBUG") and not redacting():
            raise
        again = "again without --redact" if redacting() else "again"
        tell(
            f"kinfolk: internal error: {type(error).__name__}: {private(error)}\n"
            f"This is a bug. Set KINFOLK_DEBUG=1 and run the command {again} to see where it is."
        )
        return 1
    return int(status or 0)
