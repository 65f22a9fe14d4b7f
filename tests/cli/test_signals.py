"""Whoever ends a command from outside is heard like Ctrl-C, and nothing private stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kinfolk.methods.run import patient_interrupts

WAITING = """\
import signal, sys, tempfile, time
from kinfolk.cli.main import cli, main
from kinfolk.data.buckets import make_private, private_folder

tempfile.tempdir = sys.argv[1]
if "listen" in sys.argv:
    # Whoever runs the tests under nohup has them ignore it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

@cli.command()
def wait():
    with private_folder() as folder:
        make_private(folder / "rows")
        print("waiting", flush=True)
        time.sleep(600)

main(["wait"])
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_command_that_is_ended_says_so_and_leaves_no_rows(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", WAITING, str(tmp_path), "listen"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "waiting\n"
        assert list(tmp_path.rglob("rows"))
        run.send_signal(getattr(signal, name))
        _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert said.strip() == "kinfolk: stopped."
    assert list(tmp_path.iterdir()) == []


def test_what_is_ignored_on_purpose_stays_ignored(tmp_path: Path) -> None:
    """As by nohup; SIGTERM still ends it."""
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    command = [sys.executable, "-c", ignoring + WAITING, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "waiting\n"
        run.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(timeout=0.2)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
    assert run.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_step_is_finished_first_whichever_signal_comes() -> None:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    told: list[str] = []
    try:
        with patient_interrupts(lambda: told.append("stopping")) as check:
            os.kill(os.getpid(), signal.SIGTERM)
            told.append("the step is done")
            with pytest.raises(KeyboardInterrupt):
                check()
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert told == ["stopping", "the step is done"]
