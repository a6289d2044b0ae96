"""How good predictions are on rows that were held out."""
