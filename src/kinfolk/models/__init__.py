"""Models of whole groups: what is fitted to released answers, and then sampled."""
