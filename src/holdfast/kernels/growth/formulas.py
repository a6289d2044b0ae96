"""The numbers of the criteria's formulas. Light: growth rules know them without waiting for a compiler."""

GINI, ENTROPY, MISCLASSIFICATION, SQUARED_ERROR, POISSON, PINBALL = range(6)
