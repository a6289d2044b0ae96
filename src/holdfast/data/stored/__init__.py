"""Tables on disk: for data that is larger than memory."""
