"""Which rows are learnt from and which are held out."""
