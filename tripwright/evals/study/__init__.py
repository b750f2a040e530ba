"""The human study (DeepTravel, appendix A.5; row D10): transcripts drawn blind from runs, labelled
by people on seven dimensions, and how far people agree."""
