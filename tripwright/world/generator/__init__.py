"""Generated worlds: closed, self-consistent, seeded. Sizes and laws are data (`scales.py`); what a
row looks like is in the other files."""
