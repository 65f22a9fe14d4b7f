"""Experiments on true answers, and the data that is made up for them. Everything is NOT PRIVATE."""
