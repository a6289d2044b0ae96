"""Ensembles of trees: bagging, forests, out-of-bag estimates, boosting and AdaBoost."""
