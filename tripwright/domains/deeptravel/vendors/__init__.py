"""Real services behind the six tools, each built from its vendor's published documentation. None
has been called from here."""
