"""What gangpreempt and gangreclaim are made of."""
