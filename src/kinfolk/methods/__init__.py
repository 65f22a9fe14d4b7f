"""Methods: readable loops of select, measure and fit, between the curator and a model."""
