"""What comes out: a model with its certificate, made from tables, kept in a file, drawn from."""

from kinfolk.release.file import load
from kinfolk.release.fitting import Fitted, fit
from kinfolk.release.release import Release

__all__ = ["Fitted", "Release", "fit", "load"]
