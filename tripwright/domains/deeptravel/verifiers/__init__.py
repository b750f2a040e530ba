"""Is an answer sound, and grounded in the tool answers it rests on (rows D3 to D5)?"""
