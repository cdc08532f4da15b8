"""Queue accounting that the quota plugins share."""
