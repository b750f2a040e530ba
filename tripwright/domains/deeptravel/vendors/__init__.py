"""What of a user's own stands behind the six tools: HTTP services and Python functions."""
