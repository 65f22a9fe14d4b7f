"""Differentially private synthetic data that keeps groups together."""

__version__ = "0.1.0"
