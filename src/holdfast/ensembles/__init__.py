"""Many trees as one model: bagging and forests, what out-of-bag rows say of them, and boosting."""
