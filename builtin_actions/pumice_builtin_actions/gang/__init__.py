"""Building blocks of gangpreempt and gangreclaim."""
