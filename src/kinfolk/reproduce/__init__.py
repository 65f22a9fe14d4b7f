"""The paper's experiments, run again: true errors beside the truth. Everything is NOT PRIVATE."""

from kinfolk.reproduce.dataset import Dataset, encoded_dataset, simulated_dataset
from kinfolk.reproduce.experiments import EXPERIMENTS, Experiment, experiment_named
from kinfolk.reproduce.grid import Grid, grid_for
from kinfolk.reproduce.output import write_results
from kinfolk.reproduce.running import reproduce

__all__ = [
    "EXPERIMENTS",
    "Dataset",
    "Experiment",
    "Grid",
    "encoded_dataset",
    "experiment_named",
    "grid_for",
    "reproduce",
    "simulated_dataset",
    "write_results",
]
