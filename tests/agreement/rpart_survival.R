# Writes rpart's trees for times to an event: Rscript rpart_survival.R TABLE.csv ... > rpart_survival.json
library(rpart)
library(survival)

numbers <- function(x) paste(sprintf("%.15g", x), collapse = ", ")
fits <- sapply(commandArgs(TRUE), function(path) {
  rows <- read.csv(path, stringsAsFactors = TRUE)
  fit <- rpart(
    Surv(time, event) ~ ., rows, method = "exp", parms = list(shrink = 0), usesurrogate = 0, maxcompete = 0, maxsurrogate = 0,
    xval = 0, cp = 0, minsplit = 20, minbucket = 10
  )
  sprintf(
    '  "%s": {\n    "rows": [%s],\n    "events": [%s],\n    "risk": [%s],\n    "deviance": [%s],\n    "error": [%s],\n    "splits": [%s]\n  }',
    sub(".csv", "", basename(path)), numbers(fit$frame$n), numbers(fit$frame$yval2[, 2]),
    numbers(fit$frame$yval), numbers(fit$frame$dev), numbers(fit$cptable[, 3]), numbers(fit$cptable[, 2])
  )
})
cat("{\n", paste(fits, collapse = ",\n"), "\n}\n", sep = "")
