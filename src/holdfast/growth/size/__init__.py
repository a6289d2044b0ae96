"""The size of a tree, chosen by rows held out."""
