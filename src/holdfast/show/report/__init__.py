"""Reports: results become facts (plain data), and facts one offline page of HTML."""
