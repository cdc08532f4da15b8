"""What the quota plugins share: queue accounts, minimum resources, dominant share."""
