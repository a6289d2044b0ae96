"""The pages: for each kind of result, which sections it has and in what order."""
