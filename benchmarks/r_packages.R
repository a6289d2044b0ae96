# One task of benchmarks/r_packages.py, timed inside R: Rscript r_packages.R rows.csv task repeats
suppressMessages(library(rpart))
given <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(given[1], stringsAsFactors = TRUE)
task <- given[2]
alone <- list(minsplit = 20, minbucket = 7, maxcompete = 0, maxsurrogate = 0, usesurrogate = 0)
work <- switch(task,
  tree = function() rpart(target ~ ., rows, control = c(alone, list(cp = 0.001, xval = 0))),
  sizes = function() rpart(target ~ ., rows, control = c(alone, list(cp = 0.0, xval = 10))),
  forest = function() randomForest::randomForest(target ~ ., rows, ntree = 100)
)
cpu <- function(i) sum(system.time(found <<- work())[c("user.self", "sys.self")])
seconds <- sapply(seq_len(as.integer(given[3])), cpu)
leaves <- if (task == "forest") mean(found$forest$ndbigtree + 1) / 2 else sum(found$frame$var == "<leaf>")
cat(min(seconds), leaves, "\n")
