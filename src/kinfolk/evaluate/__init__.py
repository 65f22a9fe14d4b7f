"""Synthetic data beside the real data it was made from. Everything in here is NOT PRIVATE."""

from kinfolk.evaluate.compare import Comparison, compare
from kinfolk.evaluate.evaluation import Evaluation, evaluate

__all__ = ["Comparison", "Evaluation", "compare", "evaluate"]
