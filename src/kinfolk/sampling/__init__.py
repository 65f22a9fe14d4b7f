"""From a model to groups with their members: in arrays, or as linked tables on disk."""

from kinfolk.sampling.drawing import Model, sample, sample_encoded
from kinfolk.sampling.files import Written, write_sample

__all__ = ["Model", "Written", "sample", "sample_encoded", "write_sample"]
