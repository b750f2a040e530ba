"""The episode in other frameworks' protocols. Each adapter is behind an extra of its own and
imports its framework at the top."""
