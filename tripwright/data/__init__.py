"""Training data from finished runs: episodes worth learning from, what they look like, and the
files other trainers read (STAR, row S4; Planner-R1, row P8)."""
