"""Ctrl-C between two steps rather than inside one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def patient_interrupts(notice: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C back until the function that this gives is called; it raises it.

    `notice` is called when it comes. A second Ctrl-C is not held back. Where somebody else handles
    it already, or outside the main thread, nothing changes.
    """
    pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True
        notice()

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield check
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
