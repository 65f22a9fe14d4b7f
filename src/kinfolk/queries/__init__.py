"""The queries: which there are, their exact answers, and how much one unit can change them."""
