"""Questions that users write."""
