"""Live tools: what vendors answer, behind one protocol, and the sandbox that remembers it (rows D1, D2, B7)."""
