"""The human study (row D10, A.5): transcripts drawn blind from runs, labelled by people on seven
dimensions, and how far people agree."""
