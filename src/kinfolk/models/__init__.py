"""Models of groups that answer queries: mixtures of products, and explicit histograms."""
