"""Results of tasks on disk, by what they are made from: work that stops goes on from them."""
