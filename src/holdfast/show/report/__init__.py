"""Reports: a result as sections of sentences, tables and pictures, in one offline page of HTML."""
