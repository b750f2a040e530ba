"""What TravelPlanner adds to the trip server."""
