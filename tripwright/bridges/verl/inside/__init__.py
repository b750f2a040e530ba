"""What runs within verl's processes. Needs verl (`make verl`)."""
