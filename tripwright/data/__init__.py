"""Training data from finished runs: episodes worth learning from, what they look like, and the
files other trainers read (rows S4, P8)."""
