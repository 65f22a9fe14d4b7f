"""What people see of a comparison: the evaluation, its files and its page. NOT PRIVATE."""

from kinfolk.report.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
