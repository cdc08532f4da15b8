"""Dynamic resource allocation: claims, device selectors and the search for devices."""
