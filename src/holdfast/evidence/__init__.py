"""What other trees say of a tree: split support, feature use, and replications."""
