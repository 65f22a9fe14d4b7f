"""Synthetic data beside the real data it was made from. Everything in here is NOT PRIVATE."""

from kinfolk.evaluation.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
