"""What of a user's own stands behind the six tools: Python functions and MCP servers."""
